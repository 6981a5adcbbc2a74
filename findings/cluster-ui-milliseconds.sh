#!/usr/bin/env bash
# @cockroachlabs/cluster-ui 23.2.7 (npm), the pages and formats of CockroachDB's console: a time to the millisecond, as many of its pages show it,
# ends in minute and second, since `ms` means these two to moment.js: 12:05:03.250 is 12:05:03:53. A duration of -1.5 seconds becomes -0.5, a
# text's part of a second is lost, and 999,999 is "1000.0 k". Later versions write a dot before the same `ms` (pull request 121456).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --ignore-scripts --legacy-peer-deps --prefix "$folder" @cockroachlabs/cluster-ui@23.2.7 \
  jsdom@22.1.0 long@4.0.0 protobufjs@6.8.6 react@16.12.0 react-dom@16.12.0 react-redux@7.1.3 react-router-dom@5.1.2 redux@4.0.5 \
  redux-saga@1.1.3 >/dev/null
cat >"$folder/format.cjs" <<'END'
const { JSDOM } = require('jsdom');
const Long = require('long');

const { window } = new JSDOM('', { url: 'http://localhost/', pretendToBeVisual: true });
window.dispatchEvent = () => true;
window.matchMedia = () => ({ matches: false, addEventListener() {}, addListener() {} });
for (const name of Object.getOwnPropertyNames(window)) if (!(name in globalThis)) globalThis[name] = window[name];
Object.assign(globalThis, { window, self: window });
const { util } = require('@cockroachlabs/cluster-ui');

for (const milliseconds of [250, 999]) {
  const moment = util.TimestampToMoment({ seconds: Long.fromNumber(1764417903), nanos: milliseconds * 1e6 });
  console.log(moment.toISOString(), 'is', moment.format(util.DATE_WITH_SECONDS_AND_MILLISECONDS_FORMAT));
}
for (const seconds of [1.5, -1.5]) console.log(seconds, 'seconds are', util.DurationToNumber(util.NumberToDuration(seconds)));
console.log('the second 3.25 is', util.TimestampToMoment(util.stringToTimestamp('2025-11-29T12:05:03.25Z')).toISOString());
for (const count of [999, 999_999, 1_000_000]) console.log(count, 'is', util.Count(count).trim());
process.exit();
END
seen=$(TZ=UTC node "$folder/format.cjs")
echo "$seen"
[ "$seen" = '2025-11-29T12:05:03.250Z is Nov 29, 2025 at 12:05:03:53
2025-11-29T12:05:03.999Z is Nov 29, 2025 at 12:05:03:53
1.5 seconds are 1.5
-1.5 seconds are -0.5
the second 3.25 is 2025-11-29T12:05:03.000Z
999 is 999
999999 is 1000.0 k
1000000 is 1 m' ]

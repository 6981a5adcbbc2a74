#!/usr/bin/env bash
# downsample 1.4.0 (npm), whose ASAP and SMA smooth time series for charts, carries one NaN to the end. Expected: only the point whose window has
# the NaN is NaN. Seen: so are all points after it, as the sum of each window is made of that of the window before. Prometheus gives NaN for a
# ratio of 0 to 0, so one minute without a query leaves a chart of a day without its rest, as if the node were down. LTOB returns all points.
# The README does not tell. Needs Node.js.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$folder" downsample@1.4.0 >/dev/null
cat >smooth.cjs <<'END'
const { ASAP, LTOB, SMA } = require('downsample');

const minutes = (missing) => Array.from({ length: 100 }, (_, minute) => ({ x: minute, y: minute === missing ? NaN : (minute % 7) / 6 }));
const show = (points) => points.map(({ y }) => (Number.isNaN(y) ? 'NaN' : y.toFixed(1))).join(' ');
for (const missing of [undefined, 50, 3]) {
  console.log('NaN at', missing ?? 'no minute');
  console.log('  ASAP', show(ASAP(minutes(missing), 10)));
  console.log('  SMA ', show(SMA(minutes(missing), 10, 10)));
  console.log('  LTOB', show(LTOB(minutes(missing), 10)));
}
END
seen=$(node smooth.cjs)
echo "$seen"
[ "$seen" = 'NaN at no minute
  ASAP 0.4 0.5 0.5 0.5 0.5 0.4 0.6 0.4 0.5 0.5
  SMA  0.4 0.5 0.5 0.5 0.5 0.4 0.6 0.4 0.5 0.5
  LTOB 0.0 1.0 1.0 1.0 1.0 1.0 1.0 0.0 1.0 0.2
NaN at 50
  ASAP 0.4 0.5 0.5 0.5 0.5 NaN NaN NaN NaN NaN
  SMA  0.4 0.5 0.5 0.5 0.5 NaN NaN NaN NaN NaN
  LTOB 0.0 1.0 1.0 1.0 1.0 1.0 1.0 0.0 1.0 0.2
NaN at 3
  ASAP NaN NaN NaN NaN NaN NaN NaN NaN NaN NaN
  SMA  NaN NaN NaN NaN NaN NaN NaN NaN NaN NaN
  LTOB 0.0 1.0 1.0 1.0 1.0 1.0 1.0 0.0 1.0 0.2' ]

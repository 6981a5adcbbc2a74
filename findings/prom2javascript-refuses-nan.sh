#!/usr/bin/env bash
# prom2javascript 0.2.0 (npm, 15,000 downloads a month) refuses all of a text for one value NaN, as the quantiles of a summary that has seen
# nothing are in Go programs, one value -Inf, or one name with a colon, as /federate has for each recording rule. A label value `C:\\new`,
# which says C:\new, gets a line break, and a gauge queue_count, without a type, becomes a second series of the gauge queue.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$folder" prom2javascript@0.2.0 >/dev/null
cat >"$folder/read.cjs" <<'END'
const { getMetricsFromIterator } = require('prom2javascript');

const texts = [
  'up 1\n# TYPE wait summary\nwait{quantile="0.5"} NaN\nwait_sum 0\nwait_count 0',
  'up 1\nlow -Inf',
  'up 1\njob:up:sum 1',
  String.raw`files{folder="C:\\new"} 1`,
  '# TYPE queue gauge\nqueue 1\nqueue_count 5',
];
(async () => {
  for (const text of texts) {
    const read = await getMetricsFromIterator(text.split('\n').values()).catch((error) => error.message);
    console.log(typeof read === 'string' ? read : JSON.stringify(Object.values(read)[0].data));
  }
})();
END
seen=$(node "$folder/read.cjs")
echo "$seen"
[ "$seen" = 'Unable to parse metric [wait{quantile="0.5"} NaN]
Unable to parse metric [low -Inf]
Unable to parse metric [job:up:sum 1]
[{"labels":{"folder":"C:\new"},"value":1}]
[{"labels":{},"value":1},{"labels":{},"value":5}]' ]

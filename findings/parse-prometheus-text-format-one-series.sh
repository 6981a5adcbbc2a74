#!/usr/bin/env bash
# parse-prometheus-text-format 1.1.1 (npm, 240,000 downloads a month) makes one series of all that a histogram or summary has: the buckets are
# those of the last series, whichever the labels are, and labels, sums and counts are gone. A space after the comma of labels, and a help
# text that is empty, as Go programs write it, are errors. All of it is valid text.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$folder" parse-prometheus-text-format@1.1.1 \
  shallow-equal@1.2.1 >/dev/null
cat >"$folder/read.cjs" <<'END'
const parse = require('parse-prometheus-text-format');

const histogram = `# TYPE seconds histogram
seconds_bucket{path="/a",le="1"} 90
seconds_bucket{path="/a",le="+Inf"} 100
seconds_sum{path="/a"} 50
seconds_count{path="/a"} 100
seconds_bucket{path="/b",le="1"} 1
seconds_bucket{path="/b",le="+Inf"} 2
seconds_sum{path="/b"} 9
seconds_count{path="/b"} 2
`;
for (const text of [histogram, 'up{job="a", zone="b"} 1\n', '# HELP up \n# TYPE up gauge\nup 1\n']) {
  try {
    console.log(JSON.stringify(parse(text)[0].metrics));
  } catch (error) {
    console.log(error.message);
  }
}
END
seen=$(node "$folder/read.cjs")
echo "$seen"
[ "$seen" = '[{"buckets":{"1":"1","+Inf":"2"}}]
Encountered invalid line: up{job="a", zone="b"} 1
Encountered invalid line: # HELP up' ]

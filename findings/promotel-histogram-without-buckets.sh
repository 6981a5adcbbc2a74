#!/usr/bin/env bash
# @platformatic/promotel 0.2.2 (npm, 20,000 downloads a month), from the text format to OTLP: a histogram keeps only its bucket +Inf, hence
# no bound and no quantile. A gauge `queue_count` becomes a histogram `queue` of that count. The value +Inf is left out, as is a series with
# a brace in a label value. `C:\\new`, which says C:\new, gets a line break. None of this is an error.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$folder" @platformatic/promotel@0.2.2 prom-client@15.1.3 \
  protobufjs@8.8.1 undici@7.30.2 long@5.3.2 >/dev/null
cat >"$folder/convert.mjs" <<'END'
import { convert, parse } from '@platformatic/promotel';

const request = convert(parse(String.raw`# TYPE seconds histogram
seconds_bucket{le="1"} 1
seconds_bucket{le="2"} 3
seconds_bucket{le="+Inf"} 4
seconds_sum 9
seconds_count 4
# TYPE queue_count gauge
queue_count 5
# TYPE limit gauge
limit{of="memory"} 1
limit{of="time"} +Inf
# TYPE hits gauge
hits{route="/users"} 1
hits{route="/users/{id}"} 1
# TYPE files gauge
files{folder="C:\\new"} 1
`));
for (const { name, ...data } of request.resource_metrics[0].scope_metrics[0].metrics) {
  const [kind, { data_points: points }] = Object.entries(data)[0];
  for (const { attributes, time_unix_nano: _, ...point } of points)
    console.log(kind, name, ...attributes.map(({ value }) => value.string_value), JSON.stringify(point));
}
END
seen=$(node "$folder/convert.mjs")
echo "$seen"
[ "$seen" = 'histogram seconds {"count":4,"sum":9,"bucket_counts":[4],"explicit_bounds":[]}
histogram queue {"count":5,"sum":0,"bucket_counts":[],"explicit_bounds":[]}
gauge limit memory {"as_double":1}
gauge hits /users {"as_double":1}
gauge files C:
ew {"as_double":1}' ]

#!/usr/bin/env bash
# @grafana/promql-builder 0.0.6 (npm): sum(...).without([]), which keeps all labels, becomes sum(...), which keeps none, and is as valid. What it
# builds of a negation, of label_replace(), of on([]) and of an infinite number is no query: an object's name, texts without quotes, a
# missing operand, null.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$folder" @grafana/promql-builder@0.0.6 >/dev/null
cat >"$folder/build.mjs" <<'END'
import builder from '@grafana/promql-builder';

const { div, labelReplace, n, neg, sum, toString, vector } = builder;
const queries = [
  sum(vector('up')).without([]),
  neg(vector('up')),
  labelReplace(vector('up'), 'host', '$1', 'instance', '(.*):.*'),
  div(vector('up'), vector('targets')).on([]),
  n(Infinity),
];
for (const query of queries) console.log(toString(query.build()));
END
seen=$(node "$folder/build.mjs")
echo "$seen"
[ "$seen" = 'sum(up)
-[object Object]
label_replace(up, host, $1, instance, (.*):.*)
(up) / on(targets)
null' ]

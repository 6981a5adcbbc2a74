#!/usr/bin/env bash
# @grafana/prometheus 13.2.3 (npm): the query builder reads a query, reports no error, on which the editor would ask first, and writes another
# one: it forgets offset, on(), group_left, a minus, the first operand of a + b * c and all of 2 - x, moves a division out of its sum, and reads
# 0x10 as 0 and Inf as NaN. A filter that is added to a query makes "5\d+" of `5\d+`, which Prometheus refuses.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts --legacy-peer-deps --prefix "$folder" @grafana/prometheus@13.2.3 \
  @grafana/data@13.2.3 @grafana/i18n@13.2.3 esbuild@0.28.1 react@18.3.1 react-dom@18.3.1 >/dev/null
# All that the files below use of the package of the page around them: no feature toggle is on.
echo 'export const config = { featureToggles: {} };' >runtime.mjs
cat >read.mjs <<'END'
import { addLabelToQuery } from './node_modules/@grafana/prometheus/dist/esm/add_label_to_query.mjs';
import { buildVisualQueryFromString } from './node_modules/@grafana/prometheus/dist/esm/querybuilder/parsing.mjs';
import { PromQueryModeller } from './node_modules/@grafana/prometheus/dist/esm/querybuilder/PromQueryModeller.mjs';

const queries = [
  'sum by(a) (rate(x[5m])) > 1',
  'rate(x[5m] offset 1h)',
  'x offset 1h',
  '-x',
  '2 - x',
  'a + b * c',
  'sum(a / b)',
  'a > 1 and a < 5',
  'a / on() b',
  'a * on(n) group_left(v) b',
  'predict_linear(x[1h], 3600)',
  'x > 0x10',
  'x < Inf',
];
for (const text of queries) {
  const { query, errors } = buildVisualQueryFromString(text);
  console.log(`${text} becomes ${new PromQueryModeller().renderQuery(query) || 'nothing'}, errors: ${errors.length}`);
}
console.log(addLabelToQuery('x{code=~`5\\d+`}', 'job', 'a'));
END
npx --no-install esbuild read.mjs --bundle --platform=node --log-level=error --alias:@grafana/runtime=./runtime.mjs --outfile=read.cjs
seen=$(node read.cjs)
echo "$seen"
[ "$seen" = 'sum by(a) (rate(x[5m])) > 1 becomes sum by(a) (rate(x[5m])) > 1, errors: 0
rate(x[5m] offset 1h) becomes rate(x[5m]), errors: 1
x offset 1h becomes x, errors: 0
-x becomes x, errors: 0
2 - x becomes nothing, errors: 0
a + b * c becomes b * c, errors: 0
sum(a / b) becomes sum(a) / b, errors: 0
a > 1 and a < 5 becomes a > 1 < 5, errors: 0
a / on() b becomes a / b, errors: 0
a * on(n) group_left(v) b becomes a * on(n) b, errors: 0
predict_linear(x[1h], 3600) becomes predict_linear(x[3600]), errors: 0
x > 0x10 becomes x > 0, errors: 0
x < Inf becomes x < NaN, errors: 0
x{code=~"5\d+", job="a"}' ]

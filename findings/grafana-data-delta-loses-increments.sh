#!/usr/bin/env bash
# @grafana/data 13.2.3: the calculation `delta`, which "only counts increments" by the documentation, leaves out each that follows a decrease:
# 5, 1, 6, 2 has 0, though it rose by 5, and 0, 10, 0, 10, 0, 10 has 10 of 30. Of a NaN the mean takes no notice, but the median is NaN, the
# 50th percentile of two values is the higher one, and "min (above zero)" where none is above zero is 1.797e+308.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$folder" @grafana/data@13.2.3 >/dev/null
cat >"$folder/reduce.cjs" <<'END'
globalThis.navigator ??= { language: 'en-US', languages: ['en-US'] };
const { FieldType, fieldReducers, reduceField } = require('@grafana/data');
const show = (id, values) => {
  const { name, description } = fieldReducers.get(id);
  const result = reduceField({ field: { name: 'x', type: FieldType.number, config: {}, values }, reducers: [id] })[id];
  console.log(`${id} (${name}: ${description}) of ${values.join(', ')} is ${result}`);
};
show('delta', [1, 2, 3, 4]);
show('delta', [5, 1, 6, 2]);
show('delta', [1, 3, 5, 2, 4]);
show('delta', [0, 10, 0, 10, 0, 10]);
show('logmin', [0, 0]);
show('mean', [1, NaN, 3]);
show('median', [1, NaN, 3]);
show('median', [1, 2]);
show('p50', [1, 2]);
END
seen=$(node "$folder/reduce.cjs")
echo "$seen"
[ "$seen" = 'delta (Delta: Cumulative change in value) of 1, 2, 3, 4 is 3
delta (Delta: Cumulative change in value) of 5, 1, 6, 2 is 0
delta (Delta: Cumulative change in value) of 1, 3, 5, 2, 4 is 4
delta (Delta: Cumulative change in value) of 0, 10, 0, 10, 0, 10 is 10
logmin (Min (above zero): Used for log min scale) of 0, 0 is 1.7976931348623157e+308
mean (Mean: Average Value) of 1, NaN, 3 is 2
median (Median: Median Value) of 1, NaN, 3 is NaN
median (Median: Median Value) of 1, 2 is 1.5
p50 (50th %: 50th percentile value) of 1, 2 is 2' ]

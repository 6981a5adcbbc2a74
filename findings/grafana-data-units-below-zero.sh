#!/usr/bin/env bash
# @grafana/data 13.2.3: the units of a clock show no value below zero: -90 seconds are 000ms in the unit clocks, and -1 ms is 999ms in clockms, as
# if it were above. The units of counts per second show what a division by zero gives as "∞undefined c/s" and "NaNundefined ops/s", where
# bytes per second are "∞" and "NaN". The unit s is right.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$folder" @grafana/data@13.2.3 >/dev/null
cat >"$folder/format.cjs" <<'END'
globalThis.navigator ??= { language: 'en-US', languages: ['en-US'] };
const { getValueFormat } = require('@grafana/data');
for (const [unit, ...values] of [
  ['s', 90, -90],
  ['clocks', 90, -90, -3600],
  ['clockms', 1, -1, -90000],
  ['Bps', Infinity, NaN],
  ['cps', 12000, Infinity, -Infinity],
  ['ops', 12000, NaN],
]) {
  for (const value of values) {
    const { text, suffix = '' } = getValueFormat(unit)(value);
    console.log(`${value} in ${unit} is ${text}${suffix}`);
  }
}
END
seen=$(node "$folder/format.cjs")
echo "$seen"
[ "$seen" = '90 in s is 1.50 mins
-90 in s is -1.50 mins
90 in clocks is 01m:30s:000ms
-90 in clocks is 000ms
-3600 in clocks is 000ms
1 in clockms is 001ms
-1 in clockms is 999ms
-90000 in clockms is 000ms
Infinity in Bps is ∞
NaN in Bps is NaN
12000 in cps is 12K c/s
Infinity in cps is ∞undefined c/s
-Infinity in cps is -∞undefined c/s
12000 in ops is 12K ops/s
NaN in ops is NaNundefined ops/s' ]

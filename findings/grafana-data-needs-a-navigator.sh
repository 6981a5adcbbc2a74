#!/usr/bin/env bash
# @grafana/data 13.2.3: formatting a number, in whatever unit, reads the global `navigator` of browsers for the formats of times, which it
# makes all at once at the first call: where there is none (Node.js 20, a worker without it) every unit is a ReferenceError.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$folder" @grafana/data@13.2.3 >/dev/null
cat >"$folder/format.cjs" <<'END'
// Node.js has it since version 21.
if (process.argv[2] === 'without') delete globalThis.navigator;
else globalThis.navigator ??= { language: 'en-US', languages: ['en-US'] };
const { getValueFormat } = require('@grafana/data');
for (const unit of ['short', 'bytes', 'percentunit']) {
  try {
    const { text, suffix = '' } = getValueFormat(unit)(0.5);
    console.log(unit, text + suffix);
  } catch (error) {
    console.log(unit, error.message);
  }
}
END
seen=$(node "$folder/format.cjs" with; node "$folder/format.cjs" without)
echo "$seen"
[ "$seen" = 'short 0.500
bytes 0.500 B
percentunit 50%
short navigator is not defined
bytes navigator is not defined
percentunit navigator is not defined' ]

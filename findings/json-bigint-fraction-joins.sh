#!/usr/bin/env bash
# json-bigint 1.0.0 (npm), for integers beyond 2^53, takes fractions of more than 15 characters out of the numbers, too: 0.5 is a number, and
# 0.12345678901234567 an object whose sum with a number is a text, or a text with its option storeAsString. Its README speaks of integers.
# JSONStream 1.3.5 (npm) promises a text for what no number can hold, and rounds it if it is below 0. Needs Node.js.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$folder" JSONStream@1.3.5 jsonparse@1.3.1 json-bigint@1.0.0 \
  bignumber.js@9.3.1 >/dev/null
cat >read.cjs <<'END'
const JSONStream = require('JSONStream');
const bigint = require('json-bigint');

for (const options of [{}, { storeAsString: true }]) {
  const values = bigint(options).parse('[0.5,0.12345678901234567,0.25]');
  const types = values.map((value) => typeof value).join(' ');
  console.log(types, 'sum', values[0] + values[1] + values[2]);
}
const values = [];
JSONStream.parse('*')
  .on('data', (value) => values.push(value))
  .end('[1764547200123456789,-1764547200123456789]');
console.log('JSONStream', values);
END
seen=$(node read.cjs)
echo "$seen"
[ "$seen" = "number object number sum 0.50.123456789012345670.25
number string number sum 0.50.123456789012345670.25
JSONStream [ '1764547200123456789', -1764547200123456800 ]" ]

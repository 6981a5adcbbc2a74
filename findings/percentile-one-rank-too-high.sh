#!/usr/bin/env bash
# percentile 1.6.0 (npm) takes the next higher value where 100 divides badly: the percentile 99.9 of 1,000 times is the slowest of them, not the
# one below it. Expected: 80 of 1 to 10 is 8, as its README shows, so 55 of 1 to 100 is 55, and 99.9 of 1 to 1,000 is 999. Seen: 56 and 1,000.
# stats-percentile 3.3.0 has the expected ones. Where one request of 1,000 takes a minute, an objective for 99.9 % of them is missed in the one
# report and met in the other. Its README does not tell. Needs Node.js.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$folder" percentile@1.6.0 stats-percentile@3.3.0 >/dev/null
cat >compare.cjs <<'END'
const percentile = require('percentile');
const other = require('stats-percentile');

const upTo = (last) => Array.from({ length: last }, (_, index) => index + 1);
console.log('80 of 1 to 10:', percentile(80, upTo(10)), other(upTo(10), 80));
const wrong = (read) => upTo(99).filter((rank) => read(rank) !== rank);
console.log('too high of 1 to 100:', wrong((rank) => percentile(rank, upTo(100))), wrong((rank) => other(upTo(100), rank)));
console.log('99.9 of 1 to 1000:', percentile(99.9, upTo(1000)), other(upTo(1000), 99.9));
const seconds = [...Array(999).fill(0.2), 60];
console.log('99.9 of 999 times 0.2 s and once 60 s:', percentile(99.9, seconds), other(seconds, 99.9));
END
seen=$(node compare.cjs)
echo "$seen"
[ "$seen" = '80 of 1 to 10: 8 8
too high of 1 to 100: [ 7, 14, 28, 55, 56 ] []
99.9 of 1 to 1000: 1000 999
99.9 of 999 times 0.2 s and once 60 s: 60 0.2' ]

#!/usr/bin/env bash
# timestring 7.0.0 (npm) and Go's durations: it takes out each character that is no ASCII letter, digit, underscore, dot or sign, and then passes
# over what it does not know. Expected: an error, as for 5us, or the right time. Seen: 250µs, as Go writes a quarter of a millisecond, are 250
# seconds, a million times as much, 1,5h are 15 hours, 1h30 is one hour, and a sign is no sign. So a limit that is copied from a log or from
# CockroachDB's pages is another, and nobody is told. Its README says "as messy as you like", and tells none of this. Needs Node.js and Go.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$folder" timestring@7.0.0 >/dev/null
cat >main.go <<'END'
package main

import (
	"fmt"
	"time"
)

func main() {
	for _, seconds := range []float64{5400, 0.0025, 0.00025, 1.5e-6, -5400, -0.00025} {
		fmt.Println(time.Duration(seconds * 1e9))
	}
}
END
cat >read.cjs <<'END'
const timestring = require('timestring');

const written = require('node:fs').readFileSync(0, 'utf8').trim().split('\n');
for (const text of [...written, '5us', '1.5h', '1,5h', '1h30', '1h -30m', '-1h'])
  try {
    console.log(text, 'is', timestring(text), 's');
  } catch (error) {
    console.log(text, error.message);
  }
END
seen=$(go run main.go | node read.cjs)
echo "$seen"
[ "$seen" = '1h30m0s is 5400 s
2.5ms is 0.0025 s
250µs is 250 s
1.5µs is 1.5 s
-1h30m0s is 5400 s
-250µs is 250 s
5us The unit [us] is not supported by timestring
1.5h is 5400 s
1,5h is 54000 s
1h30 is 3600 s
1h -30m is 5400 s
-1h is 3600 s' ]

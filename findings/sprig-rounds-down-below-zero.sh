#!/usr/bin/env bash
# Masterminds/sprig 3.3.0 (Go), whose functions Helm's templates have: `round` of a number below zero rounds down, whatever its fraction: -1.2 is
# -2, and -0.121 to two places is -0.13. `int` of a text that is no whole number is 0 without an error, and so is "08", where "010" is 8. That
# `max` and its like cut fractions off first is documented. Needs Go.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >main.go <<'END'
package main

import (
	"os"
	"text/template"

	"github.com/Masterminds/sprig/v3"
)

func main() {
	for _, text := range []string{
		`round 1.2 0`, `round -1.2 0`, `round -1.7 0`, `round 0.121 2`, `round -0.121 2`, `round -3 0`,
		`int "1.5"`, `int "1e3"`, `int "1,000"`, `int "010"`, `int "08"`, `max 1.2 1.7`,
	} {
		parsed := template.Must(template.New("").Funcs(sprig.TxtFuncMap()).Parse(text + " is {{ " + text + " }}\n"))
		if err := parsed.Execute(os.Stdout, nil); err != nil {
			panic(err)
		}
	}
}
END
go mod init x 2>/dev/null
go get github.com/Masterminds/sprig/v3@v3.3.0 2>/dev/null
go mod tidy 2>/dev/null
seen=$(go run .)
echo "$seen"
[ "$seen" = 'round 1.2 0 is 1
round -1.2 0 is -2
round -1.7 0 is -2
round 0.121 2 is 0.12
round -0.121 2 is -0.13
round -3 0 is -3
int "1.5" is 0
int "1e3" is 0
int "1,000" is 0
int "010" is 8
int "08" is 0
max 1.2 1.7 is 1' ]

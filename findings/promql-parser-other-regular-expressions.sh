#!/usr/bin/env bash
# promql-parser 0.11.0 (PyPI, of the Rust crate) checks matchers with regular expressions of Rust, not of RE2, which Prometheus has. It refuses
# `\Q…\E`, which Prometheus takes, and takes `a{1001}`, `(?x)`, `[a--b]` and `\u0041`, with which Prometheus refuses the rule.
# The second column is Go's package regexp, which Prometheus uses.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" install --quiet --disable-pip-version-check promql-parser==0.11.0
cat >"$folder/main.go" <<'END'
package main

import (
	"fmt"
	"os"
	"regexp"
)

func main() {
	for _, pattern := range os.Args[1:] {
		_, err := regexp.Compile("^(?s:" + pattern + ")$")
		fmt.Println(err == nil)
	}
}
END
cat >"$folder/parse.py" <<'END'
import json, sys
import promql_parser

for pattern in sys.argv[1:]:
    try:
        promql_parser.parse("x{a=~" + json.dumps(pattern) + "}")
        print(True)
    except ValueError:
        print(False)
END
patterns=('a.*' '\Qa.b\E' 'a{1001}' '(?x)a b' '[a--b]' '\u0041')
"$folder/python/bin/python" "$folder/parse.py" "${patterns[@]}" | tr 'TF' 'tf' >"$folder/rust"
go run "$folder/main.go" "${patterns[@]}" >"$folder/go"
seen=$(printf '%s\n' "${patterns[@]}" | paste -d ' ' - "$folder/rust" "$folder/go")
echo "$seen"
[ "$seen" = 'a.* true true
\Qa.b\E false true
a{1001} true false
(?x)a b true false
[a--b] true false
\u0041 true false' ]

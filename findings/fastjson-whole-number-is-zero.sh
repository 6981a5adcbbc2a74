#!/usr/bin/env bash
# fastjson 1.6.10 (Go), which VictoriaMetrics reads JSON with, gives 0 by GetInt, GetInt64 and GetUint64 for a whole number that is written as
# 5.0 or 1e+16: Python's json writes each float so. Its documentation has 0 for a value of another type; these are of the type number, and
# GetFloat64 reads them. gjson 1.20.3 has 5 and 10000000000000000. Needs Go and Python.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >main.go <<'END'
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/tidwall/gjson"
	"github.com/valyala/fastjson"
)

func main() {
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		panic(err)
	}
	parsed := fastjson.MustParseBytes(text)
	for i, one := range gjson.ParseBytes(text).Array() {
		number := parsed.GetArray()[i]
		fmt.Println(one.Raw, number.Type(), number.GetInt(), number.GetUint64(), number.GetFloat64(), one.Int())
	}
}
END
go mod init x 2>/dev/null
go get github.com/valyala/fastjson@v1.6.10 github.com/tidwall/gjson@v1.20.3 2>/dev/null
seen=$(python3 -c 'import json; print(json.dumps([5, 5.0, 1024 * 1.5, 1e16]))' | go run .)
echo "$seen"
[ "$seen" = '5 number 5 5 5 5
5.0 number 0 0 5 5
1536.0 number 0 0 1536 1536
1e+16 number 0 0 1e+16 10000000000000000' ]

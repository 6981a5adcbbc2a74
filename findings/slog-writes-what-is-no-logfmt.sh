#!/usr/bin/env bash
# log/slog (Go 1.26) and go-logfmt/logfmt 0.6.1: the TextHandler quotes as Go does, the decoder reads quotes as JSON has them. A coloured line of
# another program in a value (`\x1b[31m`), a bell, a byte that is no UTF-8 and a key with a space are syntax errors, and the rest of the line is
# lost. Prometheus and Alertmanager log this way. \n, \t and \u00a0 are read. Needs Go.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >main.go <<'END'
package main

import (
	"fmt"
	"log/slog"
	"strings"

	"github.com/go-logfmt/logfmt"
)

func main() {
	for _, entry := range [][2]string{
		{"err", "line\nbreak"}, {"err", "no-break\u00a0space"}, {"err", "\x1b[31mred\x1b[0m"}, {"err", "bell\a"},
		{"err", "latin \xe9"}, {"two words", "a"},
	} {
		var line strings.Builder
		slog.New(slog.NewTextHandler(&line, nil)).Info("failed", entry[0], entry[1], "node", 3)
		_, text, _ := strings.Cut(strings.TrimSpace(line.String()), "msg=")
		decoder, keys := logfmt.NewDecoder(strings.NewReader(line.String())), []string{}
		for decoder.ScanRecord() {
			for decoder.ScanKeyval() {
				keys = append(keys, string(decoder.Key()))
			}
		}
		fmt.Println(text, "has", keys, decoder.Err())
	}
}
END
go mod init x 2>/dev/null
go get github.com/go-logfmt/logfmt@v0.6.1 2>/dev/null
go mod tidy 2>/dev/null
seen=$(go run . | sed 's/syntax error at pos [0-9]* on line 1/error/')
echo "$seen"
[ "$seen" = "failed err=\"line\\nbreak\" node=3 has [time level msg err node] <nil>
failed err=\"no-break\\u00a0space\" node=3 has [time level msg err node] <nil>
failed err=\"\\x1b[31mred\\x1b[0m\" node=3 has [time level msg] logfmt error: invalid quoted value
failed err=\"bell\\a\" node=3 has [time level msg] logfmt error: invalid quoted value
failed err=\"latin \\xe9\" node=3 has [time level msg] logfmt error: invalid quoted value
failed \"two words\"=a node=3 has [time level msg] logfmt error: unexpected '\"'" ]

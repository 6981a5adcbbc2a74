#!/usr/bin/env bash
# Alertmanager 0.35.0 (Go module): a matcher without quotes in its configuration loses the brace at its end, though none opens the whole, and
# `code=~5[0-9]{2}` becomes a valid expression that matches no 503: the route is never taken, the inhibition never works. The log has a
# warning, which suggests quotes around the wrong value. The function that amtool uses refuses the same text. With quotes it is right. Needs Go.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >main.go <<'END'
package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"

	"github.com/prometheus/alertmanager/config/common"
	"github.com/prometheus/alertmanager/featurecontrol"
	"github.com/prometheus/alertmanager/matcher/compat"
)

func main() {
	suggestion := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key != "suggestion" {
			return slog.Attr{}
		}
		return a
	}
	// As Alertmanager and amtool start without a feature flag.
	compat.InitFromFlags(slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: suggestion})), featurecontrol.NoopFlags{})
	for _, text := range []string{`code=~5[0-9]{2}`, `code=~"5[0-9]{2}"`, `path=/users/{id}`} {
		list, _ := json.Marshal([]string{text})
		var matchers common.Matchers
		if err := json.Unmarshal(list, &matchers); err != nil {
			panic(err)
		}
		_, refused := compat.Matcher(text, "cli")
		fmt.Println(text, "is", matchers[0], "and matches:", matchers[0].Matches("503") || matchers[0].Matches("/users/{id}"))
		fmt.Println("amtool:", refused)
	}
}
END
go mod init x 2>/dev/null
go get github.com/prometheus/alertmanager@v0.35.0 2>/dev/null
go mod tidy 2>/dev/null
seen=$(go run .)
echo "$seen"
[ "$seen" = 'suggestion="code=~\"5[0-9]{2\""
code=~5[0-9]{2} is code=~"5[0-9]{2" and matches: false
amtool: unexpected open or close brace: code=~5[0-9]{2}
code=~"5[0-9]{2}" is code=~"5[0-9]{2}" and matches: true
amtool: <nil>
suggestion="path=\"/users/{id\""
path=/users/{id} is path="/users/{id" and matches: false
amtool: unexpected open or close brace: path=/users/{id}' ]

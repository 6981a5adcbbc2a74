#!/usr/bin/env bash
# Prometheus 3.5.0 (Go module v0.305.0): a number that starts with 0 is octal where it can be: `x > 010` is `x > 8` and `topk(0100, x)` is 64,
# but 08 is 8, 010.5 is 10.5 and an offset of 010m is ten minutes. So are the values of promtool's tests: 010 and 8 are one. MetricsQL
# (metricsql 0.87.3) has 010 as 8, too, and refuses 08. In the format that the documentation gives they are decimal. Needs Go.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >main.go <<'END'
package main

import (
	"fmt"

	"github.com/VictoriaMetrics/metricsql"
	"github.com/prometheus/prometheus/promql/parser"
)

func main() {
	for _, query := range []string{"x > 010", "x > 08", "topk(0100, x)", "x > 010.5", "x offset 010m"} {
		expression, err := parser.ParseExpr(query)
		if err != nil {
			panic(err)
		}
		fmt.Println(query, "is", expression)
	}
	_, values, _ := parser.ParseSeriesDesc("x 010 10 08 8")
	fmt.Println("values of a test:", values)
	for _, query := range []string{"010 + 0", "08 + 0"} {
		expression, err := metricsql.Parse(query)
		if err != nil {
			fmt.Println("MetricsQL refuses", query)
		} else {
			fmt.Println("MetricsQL:", query, "is", string(expression.AppendString(nil)))
		}
	}
}
END
go mod init x 2>/dev/null
go get github.com/prometheus/prometheus@v0.305.0 github.com/VictoriaMetrics/metricsql@v0.87.3 2>/dev/null
go mod tidy 2>/dev/null
seen=$(go run .)
echo "$seen"
[ "$seen" = 'x > 010 is x > 8
x > 08 is x > 8
topk(0100, x) is topk(64, x)
x > 010.5 is x > 10.5
x offset 010m is x offset 10m
values of a test: [8.000000 10.000000 8.000000 8.000000]
MetricsQL: 010 + 0 is 8
MetricsQL refuses 08 + 0' ]

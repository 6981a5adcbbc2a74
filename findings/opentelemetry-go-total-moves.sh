#!/usr/bin/env bash
# go.opentelemetry.io/otel/exporters/prometheus 0.69.0 (Go): the name of a counter loses the part `total` wherever it is and gets it at the end, as
# that of a gauge of the unit 1 does with `ratio`: pool.total.waits and pool.waits are one name, pool_waits_total. With the same attributes
# they are one series twice: the handler, as it is set by default, answers 500 for all metrics. Needs Go.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >main.go <<'END'
package main

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
)

func main() {
	registry := prometheus.NewRegistry()
	reader, err := exporter.New(exporter.WithRegisterer(registry), exporter.WithoutTargetInfo(), exporter.WithoutScopeInfo())
	if err != nil {
		panic(err)
	}
	meter := sdk.NewMeterProvider(sdk.WithReader(reader)).Meter("example")
	scrape := func() {
		answer := httptest.NewRecorder()
		promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
		fmt.Println(answer.Code)
		for _, line := range strings.Split(answer.Body.String(), "\n") {
			if strings.HasPrefix(line, "cache") || strings.HasPrefix(line, "pool") {
				fmt.Println(line)
			}
		}
	}
	ratio, _ := meter.Float64Gauge("cache.ratio.of.hits", metric.WithUnit("1"))
	ratio.Record(context.Background(), 0.5)
	total, _ := meter.Int64Counter("pool.total.waits")
	total.Add(context.Background(), 1)
	scrape()
	waits, _ := meter.Int64Counter("pool.waits")
	waits.Add(context.Background(), 2)
	scrape()
}
END
go mod init x 2>/dev/null
go get go.opentelemetry.io/otel/exporters/prometheus@v0.69.0 go.opentelemetry.io/otel/sdk/metric@v1.47.0 \
  github.com/prometheus/otlptranslator@v1.0.0 github.com/prometheus/client_golang@v1.25.0 2>/dev/null
go mod tidy 2>/dev/null
seen=$(go run .)
echo "$seen"
[ "$seen" = '200
cache_of_hits_ratio 0.5
pool_waits_total 1
500' ]

#!/usr/bin/env bash
# hashicorp/go-metrics 0.7.0 (Go): its Prometheus sink takes the same labels in another order for another series, and exposes both: the registry
# finds one series twice, gives an error, and its handler answers 500 as it is set by default. While both are there, for good without an
# `Expiration`, no metric of the program can be scraped. Needs Go.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >main.go <<'END'
package main

import (
	"fmt"
	"net/http/httptest"

	"github.com/hashicorp/go-metrics"
	sink "github.com/hashicorp/go-metrics/prometheus"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

func main() {
	registry := prometheus.NewRegistry()
	registered, err := sink.NewPrometheusSinkFrom(sink.PrometheusOpts{Registerer: registry})
	if err != nil {
		panic(err)
	}
	config := metrics.DefaultConfig("")
	config.EnableHostname = false
	config.EnableRuntimeMetrics = false
	reporter, err := metrics.New(config, registered)
	if err != nil {
		panic(err)
	}
	method, code := metrics.Label{Name: "method", Value: "GET"}, metrics.Label{Name: "code", Value: "200"}
	for _, labels := range [][]metrics.Label{{method, code}, {method, code}, {code, method}} {
		reporter.IncrCounterWithLabels([]string{"requests"}, 1, labels)
		answer := httptest.NewRecorder()
		promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
		fmt.Println(labels[0].Name, labels[1].Name, "->", answer.Code)
	}
}
END
go mod init x 2>/dev/null
go get github.com/hashicorp/go-metrics@v0.7.0 github.com/prometheus/client_golang@v1.25.0 2>/dev/null
go mod tidy 2>/dev/null
seen=$(go run .)
echo "$seen"
[ "$seen" = 'method code -> 200
method code -> 200
code method -> 500' ]

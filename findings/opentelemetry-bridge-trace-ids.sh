#!/usr/bin/env bash
# go.opentelemetry.io/contrib/bridges/prometheus 0.72.0 (Go), which gives metrics of client_golang to OpenTelemetry, takes the text of an exemplar's
# trace_id and span_id for the id, where it is its hexadecimal form: 16 bytes become 32 others. Sent by OTLP, one such exemplar makes the
# collector (its pdata 1.71.0) refuse the whole request, with all metrics in it. Needs Go.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >main.go <<'END'
package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/prometheus/client_golang/prometheus"
	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	// As the collector reads what it receives.
	receiver := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		check(err)
		received := pmetricotlp.NewExportRequest()
		err = received.UnmarshalProto(body)
		fmt.Println("the collector:", err)
	}))
	defer receiver.Close()
	registry := prometheus.NewRegistry()
	requests := prometheus.NewCounter(prometheus.CounterOpts{Name: "requests_total", Help: "Requests."})
	queue := prometheus.NewGauge(prometheus.GaugeOpts{Name: "queue", Help: "Queue."})
	registry.MustRegister(requests, queue)
	reader := metric.NewManualReader(metric.WithProducer(bridge.NewMetricProducer(bridge.WithGatherer(registry))))
	metric.NewMeterProvider(metric.WithReader(reader))
	exporter, err := otlpmetrichttp.New(context.Background(), otlpmetrichttp.WithEndpointURL(receiver.URL))
	check(err)
	for _, labels := range []prometheus.Labels{nil, {"trace_id": "4bf92f3577b34da6a3ce929d0e0e4736"}} {
		if labels == nil {
			requests.Inc()
		} else {
			requests.(prometheus.ExemplarAdder).AddWithExemplar(1, labels)
		}
		var data metricdata.ResourceMetrics
		check(reader.Collect(context.Background(), &data))
		for _, one := range data.ScopeMetrics[0].Metrics {
			if sum, ok := one.Data.(metricdata.Sum[float64]); ok {
				for _, exemplar := range sum.DataPoints[0].Exemplars {
					fmt.Printf("%s: an id of %d bytes, in hexadecimal %x\n", one.Name, len(exemplar.TraceID), exemplar.TraceID)
				}
			}
		}
		check(exporter.Export(context.Background(), &data))
	}
}
END
go mod init x 2>/dev/null
go get go.opentelemetry.io/contrib/bridges/prometheus@v0.72.0 go.opentelemetry.io/collector/pdata@v1.71.0 \
  go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp@v1.47.0 go.opentelemetry.io/otel/sdk/metric@v1.47.0 \
  github.com/prometheus/client_golang@v1.25.0 2>/dev/null
go mod tidy 2>/dev/null
seen=$(go run .)
echo "$seen"
[ "$seen" = 'the collector: <nil>
requests_total: an id of 32 bytes, in hexadecimal 3462663932663335373762333464613661336365393239643065306534373336
the collector: unmarshal: invalid TraceID length' ]

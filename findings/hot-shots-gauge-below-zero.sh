#!/usr/bin/env bash
# hot-shots 17.1.1 (npm) sends a gauge of -5 as `-5|g`, with its option telegraf, too, and statsd_exporter 0.31.0 reads that as five less, as the
# protocol of StatsD has it: a clock offset that is reported three times as -5 is -15, and falls with each report. Its own gaugeDelta(-5)
# sends the same bytes. The protocol asks for a 0 first. Needs Go.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$folder" hot-shots@17.1.1 >/dev/null
cat >send.cjs <<'END'
const { StatsD } = require('hot-shots');
const client = new StatsD({ mock: true, telegraf: process.argv[2] === 'telegraf' });
client.gauge('offset', 0);
for (let report = 0; report < 3; report++) client.gauge('offset', -5);
client.gauge('delta', 0);
client.gaugeDelta('delta', -5);
console.log(client.mockBuffer.join('\n'));
END
cat >main.go <<'END'
package main

import (
	"bufio"
	"fmt"
	"log/slog"
	"os"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/statsd_exporter/pkg/event"
	"github.com/prometheus/statsd_exporter/pkg/exporter"
	"github.com/prometheus/statsd_exporter/pkg/line"
	"github.com/prometheus/statsd_exporter/pkg/mapper"
)

func main() {
	count := prometheus.NewCounter(prometheus.CounterOpts{Name: "count"})
	errors := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "errors"}, []string{"reason"})
	types := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "types"}, []string{"type"})
	metrics := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "metrics"}, []string{"type"})
	registry, logger := prometheus.NewRegistry(), slog.New(slog.DiscardHandler)
	mappings := mapper.MetricMapper{Logger: logger}
	if err := mappings.InitFromYAMLString("{}"); err != nil {
		panic(err)
	}
	events := make(chan event.Events, 100)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		fmt.Print(lines.Text(), " ")
		events <- line.NewParser().LineToEvents(lines.Text(), *errors, count, count, count, logger)
	}
	close(events)
	exporter.NewExporter(registry, &mappings, logger, types, count, errors, types, types, metrics).Listen(events)
	families, err := registry.Gather()
	if err != nil {
		panic(err)
	}
	for _, family := range families {
		fmt.Printf("=> %s %v ", family.GetName(), family.GetMetric()[0].GetGauge().GetValue())
	}
	fmt.Println("in the end")
}
END
go mod init x 2>/dev/null
go get github.com/prometheus/statsd_exporter@v0.31.0 2>/dev/null
go mod tidy 2>/dev/null
seen=$(for form in datadog telegraf; do node send.cjs "$form" | go run .; done)
echo "$seen"
[ "$seen" = 'offset:0|g offset:-5|g offset:-5|g offset:-5|g delta:0|g delta:-5|g => delta -5 => offset -15 in the end
offset:0|g offset:-5|g offset:-5|g offset:-5|g delta:0|g delta:-5|g => delta -5 => offset -15 in the end' ]

#!/usr/bin/env bash
# statsd_exporter 0.31.0 (Go): of a timer sampled at 0.6 it makes one observation, as of any rate above a half, where 1/0.6 is 1.67, and of 0.3
# three: the count and the sum are up to half too small. A counter is divided exactly. A percent sign after a reference in a label of a
# mapping becomes `%!(NOVERB)`, and a label name of one letter is refused. Needs Go.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >main.go <<'END'
package main

import (
	"fmt"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/statsd_exporter/pkg/line"
	"github.com/prometheus/statsd_exporter/pkg/mapper"
)

func main() {
	parser := line.NewParser()
	parser.EnableDogstatsdParsing()
	counter := prometheus.NewCounter(prometheus.CounterOpts{Name: "count"})
	errors := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "errors"}, []string{"reason"})
	for _, text := range []string{"wait:8|ms|@0.9", "wait:8|ms|@0.6", "wait:8|ms|@0.3", "jobs:1|c|@0.6"} {
		events := parser.LineToEvents(text, *errors, counter, counter, counter, slog.New(slog.DiscardHandler))
		fmt.Printf("%s is %d of %.4g\n", text, len(events), events[0].Value())
	}
	for _, label := range []string{"used: '$1%'", "x: '$1'"} {
		mappings := mapper.MetricMapper{Logger: slog.New(slog.DiscardHandler)}
		err := mappings.InitFromYAMLString("mappings: [{ match: 'disk.*', name: disk, labels: { " + label + " } }]")
		if err != nil {
			fmt.Println(label, "is refused:", err)
			continue
		}
		_, labels, _ := mappings.GetMapping("disk.90", mapper.MetricTypeCounter)
		fmt.Println(label, "is", labels)
	}
}
END
go mod init x 2>/dev/null
go get github.com/prometheus/statsd_exporter@v0.31.0 2>/dev/null
go mod tidy 2>/dev/null
seen=$(go run .)
echo "$seen"
[ "$seen" = "wait:8|ms|@0.9 is 1 of 0.008
wait:8|ms|@0.6 is 1 of 0.008
wait:8|ms|@0.3 is 3 of 0.008
jobs:1|c|@0.6 is 1 of 1.667
used: '\$1%' is map[used:90%!(NOVERB)]
x: '\$1' is refused: invalid label key: x" ]

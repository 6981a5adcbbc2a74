#!/usr/bin/env bash
# telegraf 1.37.2 (Go module) reads OpenMetrics, in the format v2, as measurements `openmetric`, where its documentation says `prometheus`, the
# only one that its writer of Prometheus text leaves out of names. So text through both becomes openmetric_jobs, without the _total of a
# counter, a state set loses its label to its name, and a gauge histogram is a histogram. Tags `a-b` and `a.b` become one label twice,
# which Prometheus refuses. From the text format names stay. Needs Go.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >main.go <<'END'
package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/influxdata/telegraf"
	"github.com/influxdata/telegraf/logger"
	"github.com/influxdata/telegraf/metric"
	"github.com/influxdata/telegraf/plugins/parsers/openmetrics"
	"github.com/influxdata/telegraf/plugins/parsers/prometheus"
	writer "github.com/influxdata/telegraf/plugins/serializers/prometheus"
)

const text = `# TYPE jobs counter
jobs_total 5
# TYPE mode stateset
mode{mode="fast"} 1
mode{mode="slow"} 0
# TYPE depth gaugehistogram
depth_bucket{le="1"} 1
depth_bucket{le="+Inf"} 2
depth_gsum 3
depth_gcount 2
# EOF
`

func write(metrics []telegraf.Metric, err error) {
	if err != nil {
		panic(err)
	}
	to := writer.Serializer{FormatConfig: writer.FormatConfig{SortMetrics: true}}
	if err := to.Init(); err != nil {
		panic(err)
	}
	written, err := to.SerializeBatch(metrics)
	if err != nil {
		panic(err)
	}
	for _, line := range strings.Split(string(written), "\n") {
		if line != "" && !strings.HasPrefix(line, "# HELP") {
			fmt.Println(line)
		}
	}
}

func main() {
	log := logger.New("parsers", "example", "")
	write((&openmetrics.Parser{MetricVersion: 2, Log: log}).Parse([]byte(text)))
	fmt.Println("-- text format")
	write((&prometheus.Parser{MetricVersion: 2, Log: log}).Parse([]byte("# TYPE jobs_total counter\njobs_total 5\n")))
	fmt.Println("-- tags")
	tags := map[string]string{"a-b": "1", "a.b": "2"}
	write([]telegraf.Metric{metric.New("cpu", tags, map[string]any{"used": 0.5}, time.Unix(1764381600, 0), telegraf.Gauge)}, nil)
}
END
go mod init x 2>/dev/null
go get github.com/influxdata/telegraf@v1.37.2 2>/dev/null
go mod tidy 2>/dev/null
seen=$(go run .)
echo "$seen"
[ "$seen" = '# TYPE openmetric_depth histogram
openmetric_depth_bucket{le="1"} 1
openmetric_depth_bucket{le="+Inf"} 2
openmetric_depth_sum 3
openmetric_depth_count 2
# TYPE openmetric_jobs counter
openmetric_jobs 5
# TYPE openmetric_mode_fast untyped
openmetric_mode_fast 1
# TYPE openmetric_mode_slow untyped
openmetric_mode_slow 0
-- text format
# TYPE jobs_total counter
jobs_total 5
-- tags
# TYPE cpu_used gauge
cpu_used{a_b="1",a_b="2"} 0.5' ]

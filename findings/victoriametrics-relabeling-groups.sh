#!/usr/bin/env bash
# VictoriaMetrics 1.151.0 and Prometheus 3.13.1 (Go modules) relabel by one configuration to other labels. `.*` without brackets has no group 1,
# of which Prometheus makes an empty label, hence none: vmagent copies the value, but with `.+` it does not. A named group is empty in
# vmagent where it is all of the expression, and a __name__ made of it is gone; where something follows it is filled in. Needs Go.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >main.go <<'END'
package main

import (
	"fmt"

	"github.com/VictoriaMetrics/VictoriaMetrics/lib/prompb"
	"github.com/VictoriaMetrics/VictoriaMetrics/lib/promrelabel"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/relabel"
	"go.yaml.in/yaml/v2"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func prometheus(text string, from map[string]string) labels.Labels {
	var configs []*relabel.Config
	check(yaml.UnmarshalStrict([]byte(text), &configs))
	builder := labels.NewBuilder(labels.FromMap(from))
	for _, config := range configs {
		check(config.Validate(model.UTF8Validation))
	}
	relabel.ProcessBuilder(builder, configs...)
	return builder.Labels()
}

func victoriametrics(text string, from map[string]string) labels.Labels {
	configs, err := promrelabel.ParseRelabelConfigsData([]byte(text))
	check(err)
	list := []prompb.Label{}
	for name, value := range from {
		list = append(list, prompb.Label{Name: name, Value: value})
	}
	to := map[string]string{}
	for _, label := range configs.Apply(list, 0) {
		to[label.Name] = label.Value
	}
	return labels.FromMap(to)
}

func main() {
	from := map[string]string{"__name__": "up", "pod": "db-0"}
	for _, rule := range [][4]string{
		{"pod", `(.*)-.*`, "set", `${1}`},
		{"pod", `(?P<set>.*)-.*`, "set", `${set}`},
		{"__name__", `(?P<name>.*)`, "__name__", `${name}_total`},
		{"__name__", `(?P<name>.*)`, "__name__", `${name}`},
		{"pod", `.*`, "copy", `$1`},
		{"pod", `.*`, "pod", `$1`},
		{"pod", `.+`, "pod", `$1`},
	} {
		text := fmt.Sprintf("[{ source_labels: [%s], regex: '%s', target_label: %s, replacement: '%s' }]", rule[0], rule[1], rule[2], rule[3])
		fmt.Println(rule)
		fmt.Println("  Prometheus:     ", prometheus(text, from))
		fmt.Println("  VictoriaMetrics:", victoriametrics(text, from))
	}
}
END
go mod init x 2>/dev/null
go get github.com/VictoriaMetrics/VictoriaMetrics/lib/promrelabel@v1.151.0 github.com/prometheus/prometheus/model/relabel@v0.313.1 \
  go.yaml.in/yaml/v2@v2.4.4 2>/dev/null
seen=$(go run .)
echo "$seen"
# shellcheck disable=SC2016 # the references are those of the rules
[ "$seen" = '[pod (.*)-.* set ${1}]
  Prometheus:      {__name__="up", pod="db-0", set="db"}
  VictoriaMetrics: {__name__="up", pod="db-0", set="db"}
[pod (?P<set>.*)-.* set ${set}]
  Prometheus:      {__name__="up", pod="db-0", set="db"}
  VictoriaMetrics: {__name__="up", pod="db-0", set="db"}
[__name__ (?P<name>.*) __name__ ${name}_total]
  Prometheus:      {__name__="up_total", pod="db-0"}
  VictoriaMetrics: {__name__="_total", pod="db-0"}
[__name__ (?P<name>.*) __name__ ${name}]
  Prometheus:      {__name__="up", pod="db-0"}
  VictoriaMetrics: {pod="db-0"}
[pod .* copy $1]
  Prometheus:      {__name__="up", pod="db-0"}
  VictoriaMetrics: {__name__="up", copy="db-0", pod="db-0"}
[pod .* pod $1]
  Prometheus:      {__name__="up"}
  VictoriaMetrics: {__name__="up", pod="db-0"}
[pod .+ pod $1]
  Prometheus:      {__name__="up"}
  VictoriaMetrics: {__name__="up"}' ]

#!/usr/bin/env bash
# promtool 3.5.0 (Go module v0.305.0): unit tests evaluate each group of rules at the `evaluation_interval` of the test, whatever `interval` the
# group has. A group that Prometheus evaluates every 10 minutes has ten samples after nine minutes here, and none is ever stale: once it runs,
# what it records is absent for five minutes in ten, and its tests passed. Needs Go, and some minutes to build.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
# `go install` refuses a module that replaces others.
go mod init x 2>/dev/null
go get -tool github.com/prometheus/prometheus/cmd/promtool@v0.305.0 2>/dev/null
go build -o promtool github.com/prometheus/prometheus/cmd/promtool
cat >rules.yml <<'END'
groups:
  - name: slow
    interval: 10m
    rules: [{ record: targets:up:sum, expr: sum(up) }]
END
cat >test.yml <<'END'
rule_files: [rules.yml]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series: [{ series: up, values: '0+1x9' }]
    promql_expr_test:
      - expr: targets:up:sum
        eval_time: 9m
        exp_samples: [{ labels: targets:up:sum, value: 9 }]
      - expr: count_over_time(targets:up:sum[10m])
        eval_time: 9m
        exp_samples: [{ labels: '{}', value: 10 }]
END
seen=$(./promtool test rules test.yml 2>&1)
echo "$seen"
grep -q SUCCESS <<<"$seen"

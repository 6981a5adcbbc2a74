#!/usr/bin/env bash
# @grafana/data 13.2.3 reads an interval as its first number and unit, and leaves out what follows: `1h30m` is an hour, `1m30s` a minute, where
# Prometheus and Grafana's own server part (grafana-plugin-sdk-go 0.299.0) read all of it. As a duration 1h30m is 0, as 1.5h is, which is said to be
# valid, and the time now-1h30m is none. That server part refuses 1d12h, which Prometheus takes. Needs Go.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$folder" @grafana/data@13.2.3 >/dev/null
cat >read.cjs <<'END'
globalThis.navigator ??= { language: 'en-US', languages: ['en-US'] };
const { dateMath, durationToMilliseconds, isValidGrafanaDuration, parseDuration, rangeUtil } = require('@grafana/data');
for (const text of ['90m', '1h30m', '1m30s', '1.5h']) {
  const duration = `${durationToMilliseconds(parseDuration(text)) / 1000} s (valid: ${isValidGrafanaDuration(text)})`;
  const time = dateMath.parse(`now-${text}`) ? 'a time' : 'none';
  console.log(`${text} in the browser: ${rangeUtil.intervalToSeconds(text)} s, as a duration ${duration}, now-${text} is ${time}`);
}
END
cat >main.go <<'END'
package main

import (
	"fmt"

	"github.com/grafana/grafana-plugin-sdk-go/backend/gtime"
	"github.com/prometheus/common/model"
)

func main() {
	for _, text := range []string{"90m", "1h30m", "1m30s", "1d12h"} {
		here, err := gtime.ParseInterval(text)
		there, _ := model.ParseDuration(text)
		fmt.Printf("%s in the server: %v s, %v; Prometheus: %v\n", text, here.Seconds(), err, there)
	}
}
END
go mod init x 2>/dev/null
go get github.com/grafana/grafana-plugin-sdk-go@v0.299.0 github.com/prometheus/common@v0.73.1 2>/dev/null
go mod tidy 2>/dev/null
seen=$(node read.cjs; go run .)
echo "$seen"
[ "$seen" = '90m in the browser: 5400 s, as a duration 5400 s (valid: true), now-90m is a time
1h30m in the browser: 3600 s, as a duration 0 s (valid: false), now-1h30m is none
1m30s in the browser: 60 s, as a duration 0 s (valid: false), now-1m30s is none
1.5h in the browser: 3600 s, as a duration 0 s (valid: true), now-1.5h is none
90m in the server: 5400 s, <nil>; Prometheus: 1h30m
1h30m in the server: 5400 s, <nil>; Prometheus: 1h30m
1m30s in the server: 90 s, <nil>; Prometheus: 1m30s
1d12h in the server: 0 s, time: unknown unit "d" in duration "1d12h"; Prometheus: 1d12h' ]

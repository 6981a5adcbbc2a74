#!/usr/bin/env bash
# @opentelemetry/exporter-prometheus 0.301.0 (npm): attributes that differ only in what a label name cannot have, as `queue.name` and `queue_name`,
# become one label twice, where OpenTelemetry wants their values joined, and an attribute `2xx` a label of that name. Either way
# Prometheus takes nothing of the whole scrape, and the target is down: 3.5.3 says 'label name "queue_name" is not unique', or 'expected label
# name, got "2"'. The exporter logs nothing.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$folder" @opentelemetry/exporter-prometheus@0.301.0 \
  @opentelemetry/sdk-metrics@3.1.0 @opentelemetry/core@3.1.0 @opentelemetry/resources@3.1.0 @opentelemetry/semantic-conventions@1.45.0 \
  @opentelemetry/api@1.10.0 >/dev/null
cat >"$folder/expose.mjs" <<'END'
import { diag, DiagConsoleLogger } from '@opentelemetry/api';
import { PrometheusExporter, PrometheusSerializer } from '@opentelemetry/exporter-prometheus';
import { MeterProvider } from '@opentelemetry/sdk-metrics';

diag.setLogger(new DiagConsoleLogger());
const reader = new PrometheusExporter({ preventServerStart: true });
const meter = new MeterProvider({ readers: [reader] }).getMeter('example');
meter.createCounter('jobs').add(1, { 'queue.name': 'mail', queue_name: 'letters' });
meter.createCounter('answers').add(1, { '2xx': 'yes' });
const { resourceMetrics } = await reader.collect();
console.log(new PrometheusSerializer('', false, undefined, true, true).serialize(resourceMetrics));
END
seen=$(node "$folder/expose.mjs" 2>&1 | grep -v '^#\|^$')
echo "$seen"
[ "$seen" = 'jobs_total{queue_name="mail",queue_name="letters"} 1
answers_total{2xx="yes"} 1' ]

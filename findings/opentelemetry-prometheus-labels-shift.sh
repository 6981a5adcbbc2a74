#!/usr/bin/env bash
# opentelemetry-exporter-prometheus 0.66b2 (Python): where two scopes have an instrument of one name, description and unit, which OpenTelemetry
# allows, the label names are those of the first, and the values of the second stand under them by position. So it is with requests and httpx,
# instrumented in one process with OpenTelemetry's own packages: for httpx the method is 200 and the status code a URL. With httpx first it
# is requests that is wrong, and its last four values are lost.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" install --quiet --disable-pip-version-check opentelemetry-exporter-prometheus==0.66b2 opentelemetry-sdk==1.45.2 \
  opentelemetry-instrumentation-requests==0.66b2 opentelemetry-instrumentation-httpx==0.66b2 prometheus-client==0.26.0 \
  opentelemetry-api==1.45.2 opentelemetry-instrumentation==0.66b2 opentelemetry-semantic-conventions==0.66b2 \
  opentelemetry-util-http==0.66b2 requests==2.34.2 httpx==0.28.1 wrapt==2.5.2
cat >"$folder/ask.py" <<'END'
import http.server, threading
import httpx, requests
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.instrumentation.httpx import HTTPXClientInstrumentor
from opentelemetry.instrumentation.requests import RequestsInstrumentor
from opentelemetry.sdk.metrics import MeterProvider
from prometheus_client import CollectorRegistry

class Target(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
    def log_message(self, *_):
        pass

server = http.server.HTTPServer(("127.0.0.1", 0), Target)
threading.Thread(target=server.serve_forever, daemon=True).start()
registry = CollectorRegistry()
provider = MeterProvider(metric_readers=[PrometheusMetricReader(registry=registry)])
for instrumentor in (RequestsInstrumentor(), HTTPXClientInstrumentor()):
    instrumentor.instrument(meter_provider=provider)
for client in (requests, httpx):
    assert client.get(f"http://127.0.0.1:{server.server_port}/").status_code == 200
for sample in (sample for family in registry.collect() for sample in family.samples if sample.name.endswith("_count")):
    print(sample.name, {name: sample.labels.get(name) for name in ("http_method", "http_status_code", "otel_scope_name")})
END
seen=$(env -u OTEL_SEMCONV_STABILITY_OPT_IN "$folder/python/bin/python" "$folder/ask.py")
echo "$seen"
[ "$seen" = "http_client_duration_milliseconds_count {'http_method': 'GET', 'http_status_code': '200', 'otel_scope_name': 'opentelemetry.instrumentation.requests'}
http_client_duration_milliseconds_count {'http_method': '200', 'http_status_code': 'https://opentelemetry.io/schemas/1.11.0', 'otel_scope_name': None}" ]

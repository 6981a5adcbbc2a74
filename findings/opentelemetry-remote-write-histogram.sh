#!/usr/bin/env bash
# opentelemetry-exporter-prometheus-remote-write 0.66b1 (Python): buckets of a histogram are sent under its own name, not NAME_bucket, each
# with its own count, where Prometheus adds those below (le is "less or equal"), and that of the bound 0, the first of the default, without
# le. histogram_quantile() finds no NAME_bucket, and of the others it computes a wrong quantile.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" install --quiet --disable-pip-version-check opentelemetry-exporter-prometheus-remote-write==0.66b1 \
  opentelemetry-api==1.45.2 opentelemetry-sdk==1.45.2 opentelemetry-semantic-conventions==0.66b2 protobuf==6.33.6 python-snappy==0.7.3 \
  cramjam==2.14.0 requests==2.34.2 typing-extensions==4.16.0
cat >"$folder/send.py" <<'END'
import http.server, threading
import snappy
from opentelemetry.exporter.prometheus_remote_write import PrometheusRemoteWriteMetricsExporter
from opentelemetry.exporter.prometheus_remote_write.gen.remote_pb2 import WriteRequest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        request = WriteRequest.FromString(snappy.uncompress(self.rfile.read(int(self.headers["Content-Length"]))))
        for series in request.timeseries:
            if series.samples[0].value > 0:
                print({label.name: label.value for label in series.labels}, series.samples[0].value)
        self.send_response(204)
        self.end_headers()
    def log_message(self, *_):
        pass

server = http.server.HTTPServer(("127.0.0.1", 0), Receiver)
threading.Thread(target=server.serve_forever, daemon=True).start()
reader = InMemoryMetricReader()
histogram = MeterProvider(metric_readers=[reader]).get_meter("a").create_histogram("latency")
for value in (0, 3, 7, 8):
    histogram.record(value)
url = f"http://127.0.0.1:{server.server_port}/api/v1/write"
PrometheusRemoteWriteMetricsExporter(url, resources_as_labels=False).export(reader.get_metrics_data())
END
seen=$("$folder/python/bin/python" "$folder/send.py")
echo "$seen"
[ "$seen" = "{'__name__': 'latency'} 1.0
{'__name__': 'latency', 'le': '5.0'} 1.0
{'__name__': 'latency', 'le': '10.0'} 2.0
{'__name__': 'latency_sum'} 18.0
{'__name__': 'latency_count'} 4.0" ]

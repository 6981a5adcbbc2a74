#!/usr/bin/env bash
# graphite-exporter 1.2.2 (PyPI), which exposes the newest point of Graphite's series, passes over points of 0: a queue that had 70 entries four
# minutes ago, and has none since, is exposed as 70. Its README does not tell. Needs Python.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check apscheduler==3.11.3 prometheus-client==0.26.0 pyyaml==6.0.4 requests==2.34.2 \
  typing-extensions==4.15.0
python/bin/pip install --quiet --disable-pip-version-check --no-deps graphite-exporter==1.2.2
cat >expose.py <<'END'
import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

from graphite_exporter.collector import CustomMetricCollector, Graphite
from prometheus_client import CollectorRegistry, generate_latest

# Graphite gives null for a time without a point.
SERIES = {"queue.a": [60, 70, 0, 0, 0, None], "queue.b": [60, 70, 0, 0, 4, None]}


class Server(BaseHTTPRequestHandler):
    def do_GET(self):
        points = {name: [[value, 1764547200 + 60 * i] for i, value in enumerate(values)] for name, values in SERIES.items()}
        body = json.dumps([{"target": name, "datapoints": found} for name, found in points.items()]).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


server = HTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
graphite = Graphite(
    ip_list=["127.0.0.1"], port=server.server_port, pool_connections=1, pool_maxsize=1, max_retries=1, pool_block=False, timeout=10
)
config = {
    "global": {"interval": "60", "from": "-6min", "until": "now"},
    "metrics": [{"name": "queue_entries", "doc": "Entries.", "metric": "queue.*", "labels": {"queue": "${1}"}}],
}
collector = CustomMetricCollector(config, graphite)
for job, interval, name in collector.gen_job(config):
    job()
registry = CollectorRegistry()
registry.register(collector)
print(generate_latest(registry).decode(), end="")
END
seen=$(python/bin/python expose.py | grep -v '^#')
echo "$seen"
[ "$seen" = 'graphite_queue_entries{queue="a"} 70.0
graphite_queue_entries{queue="b"} 4.0' ]

#!/usr/bin/env bash
# promstats 0.1.4 (PyPI), a front of prometheus_client with the same two names for a push to a Pushgateway, has them swapped. Expected: `push`
# replaces all of the job's group (PUT), `pushadd` only metrics of the same name (POST). Seen: `pushadd` sends PUT, by which the gateway deletes
# what another part of the job has pushed, and `push` sends POST, which leaves series that are gone. Both report success. Needs Python.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check promstats==0.1.4 prometheus-client==0.26.0
cat >push.py <<'END'
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

from prometheus_client import CollectorRegistry, Gauge, push_to_gateway, pushadd_to_gateway
from promstats import Stats


class Gateway(BaseHTTPRequestHandler):
    """Answers as the Pushgateway does, and shows what is asked."""

    def answer(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        print(" ", self.command, self.path)
        self.send_response(200)
        self.end_headers()

    do_PUT = do_POST = answer

    def log_message(self, *arguments):
        pass


server = HTTPServer(("127.0.0.1", 0), Gateway)
threading.Thread(target=server.serve_forever, daemon=True).start()
address = f"127.0.0.1:{server.server_port}"
registry = CollectorRegistry()
Gauge("backup_bytes", "Size.", registry=registry).set(7)
stats = Stats("backup", pushgateway_uri=address)
stats.gauge("backup_bytes", 7)
for name, push in {
    "prometheus_client push": lambda: push_to_gateway(address, "backup", registry),
    "prometheus_client pushadd": lambda: pushadd_to_gateway(address, "backup", registry),
    "promstats push": stats.push,
    "promstats pushadd": stats.pushadd,
}.items():
    print(name)
    push()
END
seen=$(python/bin/python push.py)
echo "$seen"
[ "$seen" = 'prometheus_client push
  PUT /metrics/job/backup
prometheus_client pushadd
  POST /metrics/job/backup
promstats push
  POST /metrics/job/backup
promstats pushadd
  PUT /metrics/job/backup' ]

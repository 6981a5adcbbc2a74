#!/usr/bin/env bash
# datadog-checks-base 38.7.0: `max_returned_metrics: 0` of an openmetrics check does not lift the limit but restores the default of 2,000,
# although the class above it has the default 0, which means no limit. The series that come last are lost, and the check succeeds.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" install --quiet --disable-pip-version-check datadog-checks-base==38.7.0 binary==1.0.2 cachetools==7.2.0 \
  cryptography==50.0.1 jellyfish==1.2.1 lazy-loader==0.5 prometheus-client==0.26.0 pydantic==2.13.5 python-dateutil==2.9.0.post0 \
  pyyaml==6.0.3 requests==2.34.2 requests-toolbelt==1.0.0 requests-unixsocket2==1.0.1 simplejson==4.1.2 wrapt==2.3.0
cat >"$folder/check.py" <<'END'
import http.server, threading
from datadog_checks.base import AgentCheck
from datadog_checks.base.checks.openmetrics.v2.base import OpenMetricsBaseCheckV2
from datadog_checks.base.stubs import aggregator

class Target(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        lines = "".join(f"# TYPE m{n} gauge\nm{n} 1\n" for n in range(2500))
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(lines.encode())
    def log_message(self, *_):
        pass

server = http.server.HTTPServer(("127.0.0.1", 0), Target)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}/metrics"

def sent(limit):
    aggregator.reset()
    check = OpenMetricsBaseCheckV2("openmetrics", {}, [{"openmetrics_endpoint": url, "namespace": "a", "metrics": [".+"], "max_returned_metrics": limit}])
    assert check.run() == "", "the check fails now"
    return len(aggregator.metric_names)

print("limit of AgentCheck:", AgentCheck.DEFAULT_METRIC_LIMIT)
for limit in (0, 5000):
    print("max_returned_metrics", limit, "sends", sent(limit), "of 2500 series")
END
seen=$("$folder/python/bin/python" "$folder/check.py" 2>/dev/null)
echo "$seen"
[ "$seen" = 'limit of AgentCheck: 0
max_returned_metrics 0 sends 2000 of 2500 series
max_returned_metrics 5000 sends 2500 of 2500 series' ]

#!/usr/bin/env bash
# datadog-checks-base 38.7.0: a metric with the label `endpoint` is sent with two tags of that name, since the openmetrics check adds the URL
# that it scrapes as `endpoint` itself (`tag_by_endpoint`, on by default) and neither renames nor refuses the other. A query by either finds
# both. A label `le` of a histogram becomes `upper_bound`, but that of a gauge stays `le`.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" install --quiet --disable-pip-version-check datadog-checks-base==38.7.0 binary==1.0.2 cachetools==7.2.0 \
  cryptography==50.0.1 jellyfish==1.2.1 lazy-loader==0.5 prometheus-client==0.26.0 pydantic==2.13.5 python-dateutil==2.9.0.post0 \
  pyyaml==6.0.3 requests==2.34.2 requests-toolbelt==1.0.0 requests-unixsocket2==1.0.1 simplejson==4.1.2 wrapt==2.3.0
cat >"$folder/check.py" <<'END'
import http.server, threading
from datadog_checks.base.checks.openmetrics.v2.base import OpenMetricsBaseCheckV2
from datadog_checks.base.stubs import aggregator

TEXT = """# TYPE requests gauge
requests{endpoint="login",le="1"} 1
# TYPE seconds histogram
seconds_bucket{le="1"} 1
seconds_bucket{le="+Inf"} 1
seconds_sum 1
seconds_count 1
"""

class Target(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(TEXT.encode())
    def log_message(self, *_):
        pass

server = http.server.HTTPServer(("127.0.0.1", 0), Target)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}/metrics"
check = OpenMetricsBaseCheckV2("openmetrics", {}, [{"openmetrics_endpoint": url, "namespace": "a", "metrics": [".+"]}])
assert check.run() == ""
for name in ("a.requests", "a.seconds.bucket"):
    print(name, [tag.replace(url, "URL") for metric in aggregator.metrics(name) for tag in metric.tags])
END
seen=$("$folder/python/bin/python" "$folder/check.py" 2>/dev/null)
echo "$seen"
[ "$seen" = "a.requests ['endpoint:login', 'le:1', 'endpoint:URL']
a.seconds.bucket ['upper_bound:1.0', 'endpoint:URL']" ]

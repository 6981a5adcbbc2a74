#!/usr/bin/env bash
# slo-generator 2.6.0 (Python): its Prometheus backend does not pass on the time: the report of a past time (`--timestamp`) has that time, and the
# numbers of now. Where no event was good, the query has no result, which counts as -1: 100 events are 101 bad ones. Of a query with more
# series the first is the SLI of all. Pull request 605 of the project is to correct the time.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" install --quiet --disable-pip-version-check slo-generator==2.6.0 prometheus-http-client==1.0.0 \
  certifi==2026.10.19.post1 click==8.5.1 python-dateutil==4.0.0 pyyaml==6.0.4 requests==2.34.2 ruamel.yaml==0.19.1 urllib3==2.8.0
cat >"$folder/measure.py" <<'END'
import http.server, json, threading, urllib.parse
from slo_generator.backends.prometheus import PrometheusBackend

asked = []

class Prometheus(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        parameters = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
        asked.append(parameters)
        values = {"sum(increase(good[3600s]))": [], "sum(increase(valid[3600s]))": ["100"]}.get(parameters["query"][0], ["0.999", "0.5"])
        result = [{"metric": {"cluster": str(number)}, "value": [1764381600, value]} for number, value in enumerate(values)]
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"status": "success", "data": {"resultType": "vector", "result": result}}).encode())
    def log_message(self, *_):
        pass

server = http.server.HTTPServer(("127.0.0.1", 0), Prometheus)
threading.Thread(target=server.serve_forever, daemon=True).start()
backend = PrometheusBackend(url=f"http://127.0.0.1:{server.server_port}")

def measure(method, **indicator):
    return getattr(backend, method)(1764381600, 3600, {"spec": {"service_level_indicator": indicator}})

print("good, bad:", measure("good_bad_ratio", filter_good="good", filter_valid="valid"))
print("SLI:", measure("query_sli", expression="sum by (cluster) (rate(good[window])) / sum by (cluster) (rate(valid[window]))"))
for parameters in asked:
    print("asked", parameters["query"][0], "for the time of the report:", float(parameters["time"][0]) == 1764381600)
END
seen=$("$folder/python/bin/python" "$folder/measure.py" 2>/dev/null)
echo "$seen"
[ "$seen" = 'good, bad: (-1, 101.0)
SLI: 0.999
asked sum(increase(good[3600s])) for the time of the report: False
asked sum(increase(valid[3600s])) for the time of the report: False
asked sum by (cluster) (rate(good[3600s])) / sum by (cluster) (rate(valid[3600s])) for the time of the report: False' ]

#!/usr/bin/env bash
# promql-http-api 0.3.4 (Python) does not encode queries: a plus, as in a regular expression, arrives as a space, and what `!~".+x"` would
# leave out is counted. A query without a time is of the time of the import, however long ago. Labels that the first series lacks are left
# out of the table, though its README says that all are in. It also imports pytz without depending on it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" install --quiet --disable-pip-version-check promql-http-api==0.3.4 httpx==0.28.1 numpy==2.4.6 pandas==3.1.1 \
  pytz==2026.6 requests==2.34.2 types-setuptools==84.2.0.20261104
cat >"$folder/query.py" <<'END'
import http.server, json, threading, time, urllib.parse
from promql_http_api import PromqlHttpApi

asked = []
SERIES = [{"metric": labels, "value": [1764381600, "1"]} for labels in ({"job": "a"}, {"job": "a", "zone": "b"})]

class Prometheus(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        asked.append(urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"status": "success", "data": {"resultType": "vector", "result": SERIES}}).encode())
    def log_message(self, *_):
        pass

server = http.server.HTTPServer(("127.0.0.1", 0), Prometheus)
threading.Thread(target=server.serve_forever, daemon=True).start()
api = PromqlHttpApi(f"http://127.0.0.1:{server.server_port}")
table = api.query('count(up{job!~"test-.+"})').to_dataframe()
time.sleep(2)
api.query("up").to_dataframe()
print("query:", asked[0]["query"][0])
print("time moved in two seconds:", float(asked[1]["time"][0]) - float(asked[0]["time"][0]))
print("columns:", ", ".join(table.columns), "rows:", len(table))
END
seen=$("$folder/python/bin/python" "$folder/query.py")
echo "$seen"
[ "$seen" = 'query: count(up{job!~"test-. "})
time moved in two seconds: 0.0
columns: timestamp, job, value rows: 2' ]

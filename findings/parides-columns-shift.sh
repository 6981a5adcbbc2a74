#!/usr/bin/env bash
# parides 0.7.3 (PyPI) asks Prometheus for six hours at a time and appends each part to a CSV file below the columns of the first: where one
# series ends and another begins in between, the values of errors{code="429"} stand under errors:code_404. The time where two parts meet is
# there twice. A start of 00:00+02:00 is taken for 00:00 UTC, two hours later, though its README has times converted. It warns of nothing.
# Needs Python.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check --no-deps parides==0.7.3 certifi==2026.10.19.post1 charset-normalizer==3.5.3 \
  idna==3.20 numpy==1.26.4 pandas==2.3.3 python-dateutil==2.9.0.post0 pytz==2023.4 requests==2.34.2 six==1.17.0 tzdata==2026.6 urllib3==2.8.0
cat >export.py <<'END'
import json
import threading
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs, urlsplit

from parides.prom_conv import from_prom_to_csv


class Prometheus(BaseHTTPRequestHandler):
    def do_GET(self):
        asked = parse_qs(urlsplit(self.path).query)
        start, end = (datetime.fromisoformat(asked[name][0]) for name in ("start", "end"))
        print("asked from", start, "to", end)
        morning = start.hour == 0
        # The code 404 is there in the morning, 429 after it, and 500 all the time.
        series = {"404": 4, "500": 5} if morning else {"429": 7, "500": 8}
        result = [
            {"metric": {"__name__": "errors", "instance": "n1", "code": code}, "values": [[int(t.timestamp()), str(v)] for t in (start, end)]}
            for code, v in series.items()
        ]
        body = json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}}).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


server = HTTPServer(("127.0.0.1", 0), Prometheus)
threading.Thread(target=server.serve_forever, daemon=True).start()
zone = timezone(timedelta(hours=2))
start = datetime(2026, 1, 5, tzinfo=zone)
url = f"http://127.0.0.1:{server.server_port}"
file = from_prom_to_csv(url, "errors", directory=".", start_time=start, end_time=start + timedelta(hours=12), resolution="6h")
print(open(file).read(), end="")
END
seen=$(python/bin/python export.py)
echo "$seen"
[ "$seen" = 'asked from 2026-01-05 00:00:00+00:00 to 2026-01-05 06:00:00+00:00
asked from 2026-01-05 06:00:00+00:00 to 2026-01-05 12:00:00+00:00
time,id,errors:code_404,errors:code_500
01/05/2026 00:00:00,n1,4.0,5.0
01/05/2026 06:00:00,n1,4.0,5.0
01/05/2026 06:00:00,n1,7.0,8.0
01/05/2026 12:00:00,n1,7.0,8.0' ]

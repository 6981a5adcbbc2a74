#!/usr/bin/env bash
# prometheus-virtual-metrics 0.4.0 (PyPI) tells series by their sorted label values, without the names: {source="a",target="b"} and
# {source="b",target="a"} are one series, whose points are both's, two for each time. No error is given; an instant query has one for it.
# Needs Python.
set -euo pipefail
folder=$(mktemp -d)
server=
# shellcheck disable=SC2317 # called by the trap
leave() {
  [ -z "$server" ] || { kill "$server" && wait "$server" || true; }
  rm -rf "$folder"
}
trap leave EXIT
cd "$folder"
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check prometheus-virtual-metrics==0.4.0 aiohttp==3.14.5 promql-parser==0.11.0 \
  rlpython==0.10.3 simple-logging-setup==0.5
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
cat >settings.py <<END
class Plugin:
    def on_range_query_request(self, request, response):
        for time in request.timestamps:
            response.add_sample("sent_bytes", 10, time, {"source": "a", "target": "b"})
            response.add_sample("sent_bytes", 70, time, {"source": "b", "target": "a"})


HOST, PORT, PLUGINS = "127.0.0.1", $port, [Plugin()]
END
PYTHONPATH=. python/bin/python -m prometheus_virtual_metrics -s settings >log 2>&1 &
server=$!
curl --silent --fail --retry 60 --retry-delay 1 --retry-connrefused --output answer.json \
  --data 'query=sent_bytes&start=1764547200&end=1764547260&step=60' "http://127.0.0.1:$port/api/v1/query_range"
seen=$(python3 -c 'import json; [print(series) for series in json.load(open("answer.json"))["data"]["result"]]')
echo "$seen"
[ "$seen" = "{'metric': {'__name__': 'sent_bytes', 'source': 'a', 'target': 'b'}, \
'values': [[1764547200.0, '10'], [1764547200.0, '70'], [1764547260.0, '10'], [1764547260.0, '70']]}" ]

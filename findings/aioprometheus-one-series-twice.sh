#!/usr/bin/env bash
# aioprometheus 23.12.0 (Python) keeps a counter for the label value 200 and another for "200", and exposes both as {code="200"}: Prometheus takes
# the first, here a tenth of the count. A gauge of True has the value `True`, and a line break in a help text stays one: with either Prometheus
# takes nothing of the whole text.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" install --quiet --disable-pip-version-check aioprometheus==23.12.0 orjson==3.13.0 quantile-python==1.1
cat >"$folder/expose.py" <<'END'
from aioprometheus import Counter, Gauge, Registry
from aioprometheus.formats.text import TextFormatter

def show(kind, name, help, use):
    registry = Registry()
    use(kind(name, help, registry=registry))
    print(TextFormatter().marshall(registry).decode(), end="")

def count(counter):
    counter.inc({"code": 200})
    for _ in range(9):
        counter.inc({"code": "200"})

show(Counter, "requests_total", "All requests.", count)
show(Gauge, "ready", "1 if it is.\n0 if not.", lambda gauge: gauge.set({}, True))
END
seen=$("$folder/python/bin/python" "$folder/expose.py")
echo "$seen"
[ "$seen" = '# HELP requests_total All requests.
# TYPE requests_total counter
requests_total{code="200"} 1
requests_total{code="200"} 9
# HELP ready 1 if it is.
0 if not.
# TYPE ready gauge
ready True' ]

#!/usr/bin/env bash
# prometheus-push-client 0.0.8 (PyPI) writes label values into Influx lines and StatsD tags as they are: the value `n1,port=26257` of the label
# address becomes address="n1" and a label port="26257" that nobody set. Its OpenMetrics format escapes values. Read here by
# line-protocol-parser 2.0.1. Needs Python.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check prometheus-push-client==0.0.8 prometheus-client==0.26.0 line-protocol-parser==2.0.1
cat >push.py <<'END'
from line_protocol_parser import parse_line
from prometheus_client import CollectorRegistry, Gauge
from prometheus_push_client.formats.influx import InfluxFormat
from prometheus_push_client.formats.statsd import StatsdFormat

registry = CollectorRegistry()
gauge = Gauge("pool_size", "Size.", ["address"], registry=registry)
gauge.labels("n1,port=26257").set(4)
line = InfluxFormat(registry).generate_latest().decode()
print(line)
print(parse_line(line)["tags"])
print(StatsdFormat(registry).generate_latest().decode())
END
seen=$(python/bin/python push.py)
echo "$seen"
[ "$seen" = "pool,address=n1,port=26257 size=4.0
{'port': '26257', 'address': 'n1'}
pool_size,address=n1,port=26257:4.0|g" ]

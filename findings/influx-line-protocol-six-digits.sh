#!/usr/bin/env bash
# influx-line-protocol 0.1.5 (PyPI) writes a float with six digits: 1234567.5 bytes as 1.23457e+06, and the time 1764547200.25 as 1.76455e+09,
# three quarters of an hour later. statsdmetrics 2.0.2 (PyPI) does so with the change of a gauge: 16777217.0 goes out as +1.67772e+07, and
# the gauge is 17 too low. Both keep all digits of an int. Read here by line-protocol-parser 2.0.1. Needs Python.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check influx-line-protocol==0.1.5 line-protocol-parser==2.0.1 statsdmetrics==2.0.2
cat >write.py <<'END'
from influx_line_protocol import Metric
from line_protocol_parser import parse_line
from statsdmetrics import Gauge, GaugeDelta

metric = Metric("backup")
for name, value in ("rows", 1234567), ("bytes", 1234567.5), ("end", 1764547200.25):
    metric.add_value(name, value)
print(metric)
print(dict(sorted(parse_line(str(metric))["fields"].items())))
for number in 16777217, 16777217.0:
    print(Gauge("bytes", number).to_request(), GaugeDelta("bytes", number).to_request())
END
seen=$(python/bin/python write.py)
echo "$seen"
[ "$seen" = "backup rows=1234567i,bytes=1.23457e+06,end=1.76455e+09
{'bytes': 1234570.0, 'end': 1764550000.0, 'rows': 1234567}
bytes:16777217|g bytes:+16777217|g
bytes:16777217.0|g bytes:+1.67772e+07|g" ]

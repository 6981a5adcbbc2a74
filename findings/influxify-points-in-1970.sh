#!/usr/bin/env bash
# influxify 0.0.3 (PyPI), which makes InfluxDB's line protocol of CSV, and pandas 3.1.1, which it needs but does not name. Expected: each row is a
# point of its time, read in the format that is the last argument. Seen: all points are in January 1970, as pandas 3 counts microseconds, and rows
# of 1,000 s have one time, of which InfluxDB keeps the last. The format is not used: 03/04 is 4 March under %d/%m, while 13/04 is 13 April.
# With pandas 2.3.3 the year is right; the day is not, and the fraction of a second is lost. Needs Python.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check influxify==0.0.3 pandas==3.1.1 numpy==2.4.6 python-dateutil==2.9.0.post0 \
  pytz==2025.2 six==1.17.0 tzdata==2026.6
cat >load.csv <<'END'
time,node,load
03/04/2026 10:00:00.1,n1,1
03/04/2026 10:00:00.6,n1,2
03/04/2026 10:05:00.0,n1,3
13/04/2026 10:00:00.0,n1,4
END
cat >convert.py <<'END'
from datetime import datetime, timezone

import pandas
from influxify.main import InfluxConverter

print("pandas", pandas.__version__)
converter = InfluxConverter("load.csv", "system", ["node"], ["load"], "time", "%d/%m/%Y %H:%M:%S.%f")
for line in converter.convert_csv_to_lineprotocol().splitlines():
    print(line, "is", datetime.fromtimestamp(int(line.split()[-1]) / 1e9, timezone.utc).strftime("%d %B %Y %H:%M:%S.%f"))
END
seen=$(
  python/bin/python -W ignore convert.py
  python/bin/pip install --quiet --disable-pip-version-check --no-deps pandas==2.3.3
  python/bin/python -W ignore convert.py
)
echo "$seen"
[ "$seen" = 'pandas 3.1.1
system,node=n1 load=1 1772618000000000 is 21 January 1970 12:23:38.000000
system,node=n1 load=2 1772618000000000 is 21 January 1970 12:23:38.000000
system,node=n1 load=3 1772618000000000 is 21 January 1970 12:23:38.000000
system,node=n1 load=4 1776074000000000 is 21 January 1970 13:21:14.000000
pandas 2.3.3
system,node=n1 load=1 1772618400000000000 is 04 March 2026 10:00:00.000000
system,node=n1 load=2 1772618400000000000 is 04 March 2026 10:00:00.000000
system,node=n1 load=3 1772618700000000000 is 04 March 2026 10:05:00.000000
system,node=n1 load=4 1776074400000000000 is 13 April 2026 10:00:00.000000' ]

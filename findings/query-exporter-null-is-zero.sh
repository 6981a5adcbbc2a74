#!/usr/bin/env bash
# query-exporter 5.0.2 (Python; 5.2.2, for newer Pythons, has the same code) exposes NULL as 0: a lag that is not known looks like none, and the
# time of the last backup, where there was none, is 1970. Its README does not tell. A row that is gone keeps its value while the exporter runs,
# unless the metric has an `expiration`, which by default it has not. It asks any database of SQLAlchemy, CockroachDB, too.
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
python/bin/pip install --quiet --disable-pip-version-check query-exporter==5.0.2 aiohttp==3.14.5 apscheduler==3.11.3 \
  prometheus-aioexporter==3.2.0 prometheus-client==0.26.0 pydantic==2.14.4 python-dotenv==1.2.4 pyyaml==6.0.4 sqlalchemy==2.1.9 \
  structlog==26.1.0
cat >config.yaml <<END
databases: { local: { dsn: 'sqlite:///$folder/database' } }
metrics:
  lag_seconds: { type: gauge, description: Lag., labels: [feed] }
queries:
  # Without an interval it is asked at each scrape.
  lag: { databases: [local], metrics: [lag_seconds], sql: "SELECT feed, lag_seconds FROM feeds" }
END
change() { python/bin/python -c 'import sqlite3, sys; sqlite3.connect("database", isolation_level=None).execute(sys.argv[1])' "$1"; }
change 'CREATE TABLE feeds (feed TEXT, lag_seconds REAL)'
change "INSERT INTO feeds VALUES ('a', 5), ('b', NULL), ('c', 7)"
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
python/bin/query-exporter --config config.yaml --host 127.0.0.1 --port "$port" >log 2>&1 &
server=$!
scrape() { curl --silent --fail --retry 60 --retry-delay 1 --retry-connrefused "http://127.0.0.1:$port/metrics" | grep ^lag_seconds; }
seen=$(scrape; change "DELETE FROM feeds WHERE feed = 'c'"; echo 'c is deleted:'; scrape)
echo "$seen"
[ "$seen" = 'lag_seconds{database="local",feed="a"} 5.0
lag_seconds{database="local",feed="b"} 0.0
lag_seconds{database="local",feed="c"} 7.0
c is deleted:
lag_seconds{database="local",feed="a"} 5.0
lag_seconds{database="local",feed="b"} 0.0
lag_seconds{database="local",feed="c"} 7.0' ]

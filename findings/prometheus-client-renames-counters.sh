#!/usr/bin/env bash
# prometheus_client 0.26.0 (Python): its parser of the text format adds `_total` to the samples of a counter that have none, as those of
# CockroachDB: who reads its sql_select_count finds no such sample. A text with the counters jobs and jobs_total, which Prometheus keeps apart,
# becomes one series with two values, and is exposed so again. The README tells of `_total` for counters of one's own, not of what is read.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" install --quiet --disable-pip-version-check prometheus_client==0.26.0
cat >"$folder/read.py" <<'END'
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

TEXT = """# HELP sql_select_count Number of SQL SELECT statements successfully executed
# TYPE sql_select_count counter
sql_select_count{node_id="1"} 5
# HELP jobs Jobs that run.
# TYPE jobs counter
jobs 3
# HELP jobs_total Jobs of all time.
# TYPE jobs_total counter
jobs_total 70
"""

class Read:
    def collect(self):
        return text_string_to_metric_families(TEXT)

registry = CollectorRegistry()
registry.register(Read())
print("sql_select_count is", registry.get_sample_value("sql_select_count", {"node_id": "1"}))
print(generate_latest(registry).decode(), end="")
END
seen=$("$folder/python/bin/python" "$folder/read.py")
echo "$seen"
[ "$seen" = 'sql_select_count is None
# HELP sql_select_count_total Number of SQL SELECT statements successfully executed
# TYPE sql_select_count_total counter
sql_select_count_total{node_id="1"} 5.0
# HELP jobs_total Jobs that run.
# TYPE jobs_total counter
jobs_total 3.0
# HELP jobs_total Jobs of all time.
# TYPE jobs_total counter
jobs_total 70.0' ]

#!/usr/bin/env bash
# promtext-cli 0.2.0 (PyPI), a tool for files of node_exporter's textfile collector, reads label values by the order of names in the first line
# of a metric. Where another line has its labels in another order, as the format allows, adding any metric to the file moves its values under
# other names: {path="/b",host="n1"} becomes host="/b", path="n1". Needs Python.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check promtext-cli==0.2.0 prometheus-client==0.26.0
cat >disk.prom <<'END'
# HELP disk_free_bytes Free.
# TYPE disk_free_bytes gauge
disk_free_bytes{host="n1",path="/a"} 1
disk_free_bytes{path="/b",host="n1"} 2
END
python/bin/promtext disk.prom backup_seconds 3
seen=$(cat disk.prom)
echo "$seen"
[ "$seen" = '# HELP disk_free_bytes Free.
# TYPE disk_free_bytes gauge
disk_free_bytes{host="n1",path="/a"} 1.0
disk_free_bytes{host="/b",path="n1"} 2.0
# HELP backup_seconds metric appended by promtext-cli
# TYPE backup_seconds gauge
backup_seconds 3.0' ]

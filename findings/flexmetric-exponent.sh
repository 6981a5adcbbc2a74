#!/usr/bin/env bash
# flexmetric 0.6.0 (PyPI), an exporter of what commands print, takes all but digits, `.` and `-` out of a number: it exposes 1.5e+06 as 1.506,
# 1e3 as 13 and 2e-05 as 0. A number that ends in m, such as 5m of a Kubernetes CPU, is multiplied by 1,048,576. It leaves out numbers below
# 0, 0.0, and each line that has a word such as used, total or free in it: `unused`, `freeradius`. Nothing is logged. Needs Python.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check --no-deps flexmetric==0.6.0 pyyaml==6.0.4
cat >commands.yaml <<'END'
commands:
  - command: printf '%s\n' 'plain 42' 'bytes 1.5e+06' 'rows 1e3' 'seconds 2e-05' 'cpu 5m' 'offset -3' 'zero 0.0' 'unused 7' 'freeradius 8'
    main_label: example
    labels: [name]
    label_columns: [0]
    value_column: 1
END
cat >expose.py <<'END'
from flexmetric.metric_process.process_commands import process_commands

for metric in process_commands("commands.yaml"):
    for row in metric["result"]:
        print(metric["main_label"], *row["label"], row["value"])
END
python/bin/python expose.py >log 2>&1
seen=$(grep ^example log)
echo "$seen"
[ "$seen" = 'example plain 42.0
example bytes 1.506
example rows 13.0
example seconds 0.0
example cpu 5242880.0' ]
! grep -E 'WARN|ERROR' log

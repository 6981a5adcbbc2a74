#!/usr/bin/env bash
# logfmt 0.4 (PyPI) takes any backslash of a quoted value for the escape of the next quote, however far it is: after a \n or a C:\ the value
# does not end at its quote. The value is then `True` and all keys behind it are lost, or they are part of the value up to the next quote.
# Prometheus, Alertmanager and all that uses Go's log/slog write such lines. bc-logfmt-python 0.1.1 has the same reader. Needs Python.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check logfmt==0.4 bc-logfmt-python==0.1.1
cat >read.py <<'END'
from bc_logfmt.parser import parse_line
from logfmt.parser import parse_line as parse

for line in (
    r'level=error err="2 errors" file=rules.yml node=3',
    r'level=error err="2 errors\nrules.yml" file=rules.yml node=3',
    r'level=warn msg="open C:\data" node=3 store="s1" disk=4',
):
    print(parse(line), parse_line(line) == parse(line))
END
seen=$(python/bin/python read.py)
echo "$seen"
[ "$seen" = "{'level': 'error', 'err': '2 errors', 'file': 'rules.yml', 'node': '3'} True
{'level': 'error', 'err': True} True
{'level': 'warn', 'msg': 'open C:data\" node=3 store=', 's1': True, 'disk': '4'} True" ]

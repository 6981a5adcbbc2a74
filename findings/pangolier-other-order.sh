#!/usr/bin/env bash
# pangolier 0.4.2 (Python), a builder of PromQL, writes brackets where operators differ in rank, and none where they do not: a - (b - c)
# becomes a - b - c, which Prometheus reads from the left, a / (b * c) becomes a / b * c, and (a ^ b) ^ c, which it reads from the right,
# a ^ b ^ c. Each is a valid query of another value. a == b becomes a = b, which is none.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" install --quiet --disable-pip-version-check pangolier==0.4.2
cat >"$folder/build.py" <<'END'
from pangolier.metrics import Metric

a, b, c = Metric("a"), Metric("b"), Metric("c")
for query in (a * (b + c), a - (b - c), a / (b * c), (a ^ b) ^ c, a == b):
    print(query.to_str())
END
seen=$("$folder/python/bin/python" "$folder/build.py")
echo "$seen"
[ "$seen" = 'a * (b + c)
a - b - c
a / b * c
a ^ b ^ c
a = b' ]

#!/usr/bin/env bash
# prometheus-pandas 0.3.3: `query` of a scalar returns an array of two numbers, the time and the value, where its signature says a numpy
# float: `scalar(x) > 5` compares the time, too. A string comes as the list of time and text. It also
# imports requests without depending on it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" install --quiet --disable-pip-version-check prometheus-pandas==0.3.3 requests==2.34.2
cat >"$folder/read.py" <<'END'
import typing
from prometheus_pandas.query import Scalar, to_pandas

# As Prometheus answers /api/v1/query?query=scalar(x) and ?query="a".
value = to_pandas({"resultType": "scalar", "result": [1764381600, "3"]})
print("promised:", Scalar.__name__)
print("scalar:", type(value).__name__, value.tolist(), "above 5:", (value > 5).tolist())
print("string:", to_pandas({"resultType": "string", "result": [1764381600, "a"]}))
END
seen=$("$folder/python/bin/python" "$folder/read.py")
echo "$seen"
[ "$seen" = "promised: float64
scalar: ndarray [1764381600.0, 3.0] above 5: [True, False]
string: [1764381600, 'a']" ]

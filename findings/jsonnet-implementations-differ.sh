#!/usr/bin/env bash
# Three implementations of Jsonnet (PyPI: jsonnet 0.22.0 in C++, gojsonnet 0.22.0, rjsonnet 0.5.6, which is jrsonnet) evaluate one text to other
# values, without an error: '%.0f' of 0.5 and '%d' of -1.9, which texts of alerts use, std.round(-2.5), std.base64 of a letter beyond ASCII,
# a tenth in a query, and a key 1_000, which jrsonnet leaves without quotes, so that PyYAML reads the number 1000.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" install --quiet --disable-pip-version-check jsonnet==0.22.0 gojsonnet==0.22.0 rjsonnet==0.5.6 pyyaml==6.0.4
cat >"$folder/evaluate.py" <<'END'
import _gojsonnet, _jsonnet, json, rjsonnet, yaml

TEXTS = [
    "'%.0f' % 0.5", "'%d' % -1.9", "std.round(-2.5)", "std.base64('é')", "'x > ' + 0.1",
    "std.manifestYamlDoc({ '1_000': 1 }, quote_keys=false)",
]
for text in TEXTS:
    values = [json.loads(jsonnet.evaluate_snippet("x", text)) for jsonnet in (_jsonnet, _gojsonnet, rjsonnet)]
    print(text, "is", values)
print(yaml.safe_load(values[0]), yaml.safe_load(values[2]))
END
seen=$("$folder/python/bin/python" "$folder/evaluate.py")
echo "$seen"
[ "$seen" = "'%.0f' % 0.5 is ['1', '1', '0']
'%d' % -1.9 is ['-1', '-1', '-2']
std.round(-2.5) is [-2, -3, -3]
std.base64('é') is ['6Q==', 'w6k=', 'w6k=']
'x > ' + 0.1 is ['x > 0.10000000000000001', 'x > 0.10000000000000001', 'x > 0.1']
std.manifestYamlDoc({ '1_000': 1 }, quote_keys=false) is ['\"1_000\": 1', '\"1_000\": 1', '1_000: 1']
{'1_000': 1} {1000: 1}" ]

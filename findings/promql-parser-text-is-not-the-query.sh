#!/usr/bin/env bash
# promql-parser 0.11.0 (PyPI): the text of an expression (`str`) has label values without their escapes, so that a quote or a line break in one
# gives a text that is another query or none, which the same parser refuses. `prettify` escapes them. Both write `1h30m` as 5400.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" install --quiet --disable-pip-version-check promql-parser==0.11.0
cat >"$folder/write.py" <<'END'
import promql_parser

def readable(text):
    try:
        promql_parser.parse(text)
        return "parses"
    except ValueError:
        return "does not parse"

for query in (r'x{a="b\"c"}', r'x{a="b\",d=\"e"}', "x > 1h30m"):
    parsed = promql_parser.parse(query)
    print(query, "| str:", str(parsed), readable(str(parsed)), "| prettify:", parsed.prettify(), readable(parsed.prettify()))
END
seen=$("$folder/python/bin/python" "$folder/write.py")
echo "$seen"
[ "$seen" = 'x{a="b\"c"} | str: x{a="b"c"} does not parse | prettify: x{a="b\"c"} parses
x{a="b\",d=\"e"} | str: x{a="b",d="e"} parses | prettify: x{a="b\",d=\"e"} parses
x > 1h30m | str: x{} > 5400 parses | prettify: x > 5400 parses' ]

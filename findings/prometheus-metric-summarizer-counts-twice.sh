#!/usr/bin/env bash
# prometheus-metric-summarizer 0.1.0 (Python) adds up the buckets of a histogram, each of which counts all below it already, so its quantiles
# are too high, often infinite. Sum and count it never finds, as they have another name than the buckets, and it guesses the sum from the
# same counts: here the mean of 1.2 seconds is 9.6, the median of 1 is 2.6, and the largest bucket is always one of the last.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" install --quiet --disable-pip-version-check prometheus-metric-summarizer==0.1.0
cat >"$folder/summarize.py" <<'END'
import json
from promsum.cli import summarize

def series(name, end, **labels):
    return {"metric": {"__name__": name, **labels}, "values": [[1764381600, "0"], [1764381660, str(end)]]}

# 50 observations up to 1 second, 40 up to 2, 10 up to 4, of 120 seconds in all.
buckets = [series("seconds_bucket", end, le=bound) for bound, end in (("1", 50), ("2", 90), ("4", 100), ("+Inf", 100))]
result = buckets + [series("seconds_sum", 120), series("seconds_count", 100)]
answer = {"status": "success", "data": {"resultType": "matrix", "result": result}}
(summary,) = json.loads(summarize("histogram", json.dumps(answer)))
for name in ("count", "sum", "avg", "p50", "p90", "dominant_bucket"):
    print(name, summary["stats"][name])
END
seen=$("$folder/python/bin/python" "$folder/summarize.py")
echo "$seen"
[ "$seen" = 'count 100.0
sum 960.0
avg 9.6
p50 2.6
p90 inf
dominant_bucket 4.0' ]

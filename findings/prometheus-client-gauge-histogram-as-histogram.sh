#!/usr/bin/env bash
# prometheus_client 0.26.0 (Python) writes a gauge histogram in the text format as `# TYPE g histogram`, without `g_sum` and `g_count` but
# with the gauges `g_gsum` and `g_gcount`. Buckets that go down are counters then: rate() sees resets, and what converts classic histograms
# to native ones takes them for one. In OpenMetrics it is a gaugehistogram.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" install --quiet --disable-pip-version-check prometheus_client==0.26.0
cat >"$folder/expose.py" <<'END'
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeHistogramMetricFamily
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics

class Ages:
    def collect(self):
        yield GaugeHistogramMetricFamily("age", "Ages.", buckets=[("1.0", 1), ("+Inf", 2)], gsum_value=3)

registry = CollectorRegistry()
registry.register(Ages())
for generate in (generate_latest, generate_openmetrics):
    text = generate(registry).decode()
    print([line for line in text.splitlines() if line.startswith("# TYPE")])
    print([line.split()[0] for line in text.splitlines() if not line.startswith("#")])
END
seen=$("$folder/python/bin/python" "$folder/expose.py")
echo "$seen"
[ "$seen" = "['# TYPE age histogram', '# TYPE age_gcount gauge', '# TYPE age_gsum gauge']
['age_bucket{le=\"1.0\"}', 'age_bucket{le=\"+Inf\"}', 'age_gcount', 'age_gsum']
['# TYPE age gaugehistogram']
['age_bucket{le=\"1.0\"}', 'age_bucket{le=\"+Inf\"}', 'age_gcount', 'age_gsum']" ]

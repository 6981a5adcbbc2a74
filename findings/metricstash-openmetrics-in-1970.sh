#!/usr/bin/env bash
# metricstash 0.1.0 (PyPI), a collector of Prometheus and OpenMetrics text, reads OpenMetrics with prometheus_client's parser of the other format.
# Expected: a sample with a timestamp of an hour ago has that, and one with an exemplar the time of the scrape. Seen: both are of January 1970,
# as seconds are read as milliseconds, and as the time of an exemplar is taken for that of its sample. The scrape succeeds, a range of two hours
# has neither, and the first `prune` of what is older than a day deletes both: on the day of an outage they are gone. Needs Python.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check metricstash==0.1.0 prometheus-client==0.26.0 aiohttp==3.14.5 \
  aiohappyeyeballs==2.7.1 aiosignal==1.4.0 attrs==26.1.0 frozenlist==1.8.0 idna==3.20 multidict==7.2.1 propcache==0.5.4 yarl==1.25.1 \
  typing-extensions==4.16.0
cat >collect.py <<'END'
import json
import subprocess
import time
from datetime import datetime, timezone

from prometheus_client import CollectorRegistry, Counter, start_http_server
from prometheus_client.core import GaugeMetricFamily

TOOL, STORE = "python/bin/metricstash", ["--db", "metrics.db"]
registry = CollectorRegistry()
plain, traced = (Counter(name, "Jobs.", registry=registry) for name in ("plain", "traced"))


class Backups:
    def collect(self):
        family = GaugeMetricFamily("backup_bytes", "Size.")
        family.add_metric([], 7, timestamp=time.time() - 3600)
        yield family


registry.register(Backups())
server, thread = start_http_server(0, "127.0.0.1", registry)
metrics = [("plain_total", "counter"), ("traced_total", "counter"), ("backup_bytes", "gauge")]
with open("metricstash.toml", "w") as file:
    print('[[tasks]]\nsystem = "crdb"\nmodule = "jobs"\nhttp = { headers = { Accept = "application/openmetrics-text" } }', file=file)
    for name, kind in metrics:
        print(f'[[tasks.metrics]]\nname = "{name}"\ntype = "{kind}"', file=file)
    print(f'[[tasks.targets]]\nurl = "http://127.0.0.1:{server.server_port}/metrics"', file=file)
for trace in "ab":
    plain.inc()
    traced.inc(exemplar={"trace_id": trace})
    collected = subprocess.run([TOOL, "collect", "--config", "metricstash.toml", *STORE], check=True, capture_output=True, text=True)
    print(collected.stdout.strip())


def query(selector):
    asked = subprocess.run([TOOL, "query", *STORE, selector, "--format", "json"], check=True, capture_output=True, text=True)
    samples = [sample for series in json.loads(asked.stdout)["series"] for sample in series["samples"]]
    times = [datetime.fromtimestamp(sample["timestamp_ms"] / 1000, timezone.utc) for sample in samples]
    print(selector, [(sample["value"], "today" if at.year > 1970 else f"{at:%B %Y}") for sample, at in zip(samples, times)])


for name, _ in metrics:
    query(name)
    query(f"{name}[2h]")
subprocess.run([TOOL, "prune", *STORE, "--older-than", "1d"], check=True, stdout=subprocess.DEVNULL)
print("pruned")
for name, _ in metrics:
    query(name)
END
seen=$(python/bin/python collect.py)
echo "$seen"
[ "$seen" = "run=1 successful_targets=1 failed_targets=0
run=2 successful_targets=1 failed_targets=0
plain_total [(2.0, 'today')]
plain_total[2h] [(1.0, 'today'), (2.0, 'today')]
traced_total [(2.0, 'January 1970')]
traced_total[2h] []
backup_bytes [(7.0, 'January 1970')]
backup_bytes[2h] []
pruned
plain_total [(2.0, 'today')]
traced_total []
backup_bytes []" ]

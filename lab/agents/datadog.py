"""Prints what the openmetrics check of the Datadog Agent would send, by name, as JSON: datadog.py EXAMPLE.yml URL."""

import json
import sys

import yaml
from datadog_checks.base.checks.openmetrics.v2.base import OpenMetricsBaseCheckV2
from datadog_checks.base.stubs import aggregator

with open(sys.argv[1]) as file:
    [instance] = yaml.safe_load(file)["instances"]
check = OpenMetricsBaseCheckV2("openmetrics", {}, [{**instance, "openmetrics_endpoint": sys.argv[2]}])
error = check.run()
if error:
    sys.exit(error)
prefix = instance["namespace"] + "."
print(json.dumps([name.removeprefix(prefix) for name in aggregator.metric_names for _ in aggregator.metrics(name)]))

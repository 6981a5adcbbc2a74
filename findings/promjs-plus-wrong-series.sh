#!/usr/bin/env bash
# promjs-plus 0.5.4 (npm, 12,000 downloads a month): inc() without labels adds to the first series that has labels if that came first; the
# highest bucket of a histogram lacks the observations equal to its bound, though le is "less or equal"; and a gauge that starts with sub()
# or dec() starts at 0 after it, and is too high from then on.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$folder" promjs-plus@0.5.4 >/dev/null
cat >"$folder/expose.mjs" <<'END'
import { Registry } from 'promjs-plus';

const registry = new Registry();
const jobs = registry.create('counter', 'jobs_total');
jobs.inc({ queue: 'mail' });
jobs.inc();
const balance = registry.create('gauge', 'balance');
balance.sub(5);
balance.add(8);
const seconds = registry.create('histogram', 'seconds', '', [1, 2, 5]);
for (const value of [1, 2, 5]) seconds.observe(value);
console.log(registry.metrics().trim());
END
seen=$(node "$folder/expose.mjs")
echo "$seen"
[ "$seen" = '# TYPE jobs_total counter
jobs_total{queue="mail"} 2
# TYPE balance gauge
balance 8
# TYPE seconds histogram
seconds_count 3
seconds_sum 8
seconds_bucket{le="1"} 1
seconds_bucket{le="2"} 2
seconds_bucket{le="5"} 2
seconds_bucket{le="+Inf"} 3' ]

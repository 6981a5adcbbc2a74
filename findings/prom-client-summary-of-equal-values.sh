#!/usr/bin/env bash
# prom-client 15.1.3 (npm): where values repeat, quantiles of a Summary lie between two of them, where none was. After 9,999 requests of 0.1 s and
# one of 50 s the quantile 0.9 is 40 s, and 0.99 is 49 s, though all but one request took 0.1 s. tdigest 0.1.3, its estimator, keeps equal values
# together without a limit and goes in a straight line from the middle of them to the next value. Values that differ are right. Needs Node.js.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$folder" prom-client@15.1.3 tdigest@0.1.3 bintrees@1.0.2 >/dev/null
cat >observe.cjs <<'END'
const { Registry, Summary } = require('prom-client');

const expose = async (values) => {
  const registry = new Registry();
  const summary = new Summary({ name: 'seconds', help: 'Seconds.', percentiles: [0.5, 0.9, 0.99, 0.999], registers: [registry] });
  for (const value of values) summary.observe(value);
  const lines = (await registry.metrics()).split('\n').filter((line) => line.startsWith('seconds{'));
  console.log(lines.map((line) => line.replace(/.*"(.*)"} (.*)/, (_, quantile, value) => `${quantile}: ${Number(value).toFixed(3)}`)).join(' '));
};
(async () => {
  await expose([...Array(9999).fill(0.1), 50]);
  // Half of the requests take 1 ms, the others 1 s.
  await expose(Array.from({ length: 10_000 }, (_, i) => (i % 2 ? 1 : 0.001)));
  await expose(Array.from({ length: 10_000 }, (_, i) => i / 10_000));
})();
END
seen=$(node observe.cjs)
echo "$seen"
[ "$seen" = '0.5: 0.105 0.9: 40.025 0.99: 49.007 0.999: 49.905
0.5: 0.500 0.9: 1.000 0.99: 1.000 0.999: 1.000
0.5: 0.500 0.9: 0.900 0.99: 0.990 0.999: 0.999' ]

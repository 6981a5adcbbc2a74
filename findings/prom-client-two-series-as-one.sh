#!/usr/bin/env bash
# prom-client 15.1.3 (npm) keeps a series under its labels as `name:value,`, without an escape: two sets of labels with the same text are one
# series, the first, which counts for both. It pushes a grouping value with a slash as %2F, where the Pushgateway wants base64, as its README
# tells, since it splits the path after decoding: the grouping path="/var/tmp" is path="" and var="tmp" there, without an error.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$folder" prom-client@15.1.3 tdigest@0.1.2 bintrees@1.0.2 \
  @opentelemetry/api@1.10.0 >/dev/null
cat >"$folder/expose.cjs" <<'END'
const http = require('node:http');
const { Counter, Pushgateway, Registry } = require('prom-client');

const registry = new Registry();
const options = { help: 'x', labelNames: ['from', 'to'], registers: [registry] };
const moves = new Counter({ name: 'moves_total', ...options });
moves.inc({ from: 'a', to: 'b,to:c' }, 1);
moves.inc({ from: 'a,to:b', to: 'c' }, 10);
const server = http.createServer((request, response) => {
  console.log('pushed to', request.url, 'which is', decodeURIComponent(request.url));
  response.end();
});
server.listen(0, '127.0.0.1', async () => {
  console.log((await registry.metrics()).trim());
  const gateway = new Pushgateway(`http://127.0.0.1:${server.address().port}`, {}, registry);
  await gateway.push({ jobName: 'cleaner', groupings: { path: '/var/tmp' } });
  server.close();
});
END
seen=$(node "$folder/expose.cjs")
echo "$seen"
[ "$seen" = '# HELP moves_total x
# TYPE moves_total counter
moves_total{from="a",to="b,to:c"} 11
pushed to /metrics/job/cleaner/path/%2Fvar%2Ftmp which is /metrics/job/cleaner/path//var/tmp' ]

#!/usr/bin/env bash
# prometheus-query 3.5.1 (npm) reads the values +Inf and -Inf of Prometheus as NaN: an infinite ratio looks like no value. A scalar stays
# the text "+Inf".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$folder" prometheus-query@3.5.1 >/dev/null
cat >"$folder/read.cjs" <<'END'
const http = require('node:http');
const { PrometheusDriver } = require('prometheus-query');

const VECTOR = ['1', '+Inf', '-Inf'].map((text) => ({ metric: { text }, value: [1764381600, text] }));
const server = http.createServer((request, response) => {
  const data = request.url.includes('scalar')
    ? { resultType: 'scalar', result: [1764381600, '+Inf'] }
    : { resultType: 'vector', result: VECTOR };
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ status: 'success', data }));
});
server.listen(0, '127.0.0.1', async () => {
  const endpoint = `http://127.0.0.1:${server.address().port}`;
  const driver = new PrometheusDriver({ endpoint });
  const { result } = await driver.instantQuery('x');
  for (const { metric, value } of result) console.log(metric.labels.text, 'is', value.value);
  console.log('scalar', JSON.stringify((await driver.instantQuery('scalar(x)')).result));
  server.close();
});
END
seen=$(node "$folder/read.cjs")
echo "$seen"
[ "$seen" = '1 is 1
+Inf is NaN
-Inf is NaN
scalar [1764381600,"+Inf"]' ]

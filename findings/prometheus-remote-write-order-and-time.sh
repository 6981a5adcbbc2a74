#!/usr/bin/env bash
# prometheus-remote-write 0.5.1 (npm, 140,000 downloads a month): it sends labels in the order of the object, where the protocol wants them
# sorted by name, neither `Content-Encoding: snappy` nor the version of the protocol, and the current time for a sample of time 0.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$folder" prometheus-remote-write@0.5.1 node-fetch@2.7.0 \
  snappyjs@0.6.1 >/dev/null
cat >"$folder/send.cjs" <<'END'
const http = require('node:http');
const { buffer } = require('node:stream/consumers');
const { pushTimeseries } = require('prometheus-remote-write');
const { prometheus } = require('prometheus-remote-write/prom');
const { uncompress } = require('snappyjs');

const server = http.createServer(async (request, response) => {
  const { timeseries } = prometheus.WriteRequest.decode(uncompress(await buffer(request)));
  console.log('Content-Encoding:', request.headers['content-encoding']);
  console.log('version:', request.headers['x-prometheus-remote-write-version']);
  console.log('labels:', timeseries[0].labels.map(({ name }) => name).join(' '));
  const year = new Date(Number(timeseries[0].samples[0].timestamp)).getUTCFullYear();
  console.log('time 0 is of 1970:', year === 1970);
  response.end();
});
server.listen(0, '127.0.0.1', async () => {
  const labels = { zone: 'b', __name__: 'x', app: 'a' };
  const url = `http://127.0.0.1:${server.address().port}/api/v1/write`;
  await pushTimeseries({ labels, samples: [{ value: 1, timestamp: 0 }] }, { url, labels: { job: 'c' } });
  server.close();
});
END
seen=$(node "$folder/send.cjs")
echo "$seen"
[ "$seen" = 'Content-Encoding: undefined
version: undefined
labels: job zone __name__ app
time 0 is of 1970: false' ]

#!/usr/bin/env bash
# lynx 0.2.0 (npm), which takes a stream of StatsD lines to send them on, draws lots again for a line that was sampled already: of counts at the
# rate 0.1 nine in ten go nowhere. The tenth is sent as `hits:1|c@0.1|@0.1`, with the rate within the type. A stream whose parts end
# within a line loses the rate (statsd-parser 0.0.4, its reader): 5 at 0.1, which are 50, are 5. Needs Node.js.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$folder" lynx@0.2.0 statsd-parser@0.0.4 mersenne@0.0.4 >/dev/null
cat >send.cjs <<'END'
const Lynx = require('lynx');
const parser = require('statsd-parser');

let sent = [];
const socket = { send: (bytes) => sent.push(bytes.toString()), on() {}, close() {} };
const client = new Lynx('127.0.0.1', 8125, { socket, on_error() {} });
for (let line = 0; line < 10_000; line++) client.parser.write('hits:1|c|@0.1\n');
console.log(sent.length > 800 && sent.length < 1200, new Set(sent));
for (const parts of [['hits:5|c|@0.1\n'], ['hits:5|c', '|@0.1\n'], ['hits:5|c|@0.1', '5\n']]) {
  const stream = parser.createStream();
  stream.on('stat', (text, stat) => console.log(parts, JSON.stringify(stat)));
  stream.on('error', () => {});
  for (const part of parts) stream.write(part);
}
END
seen=$(node --no-deprecation send.cjs)
echo "$seen"
[ "$seen" = "true Set(1) { 'hits:1|c@0.1|@0.1' }
[ 'hits:5|c|@0.1\\n' ] {\"stat\":\"hits\",\"value\":\"5\",\"type\":\"c\",\"sample_rate\":\"0.1\"}
[ 'hits:5|c', '|@0.1\\n' ] {\"stat\":\"hits\",\"value\":\"5\",\"type\":\"c\"}
[ 'hits:5|c|@0.1', '5\\n' ] {\"stat\":\"hits\",\"value\":\"5\",\"type\":\"c\",\"sample_rate\":\"0.1\"}" ]

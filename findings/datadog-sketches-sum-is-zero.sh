#!/usr/bin/env bash
# @datadog/sketches-js 2.1.1 (npm) reads back a sketch with the sum 0, the lowest value Infinity and the highest -Infinity, which its form on the
# wire does not have. Count and quantiles are right, so a mean is 0, and a sketch that such a one is merged into counts its values without
# their sum. Its README tells neither. Needs Node.js.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$folder" @datadog/sketches-js@2.1.1 protobufjs@7.5.4 >/dev/null
cat >read.cjs <<'END'
const { DDSketch } = require('@datadog/sketches-js');

const show = ({ count, sum, min, max }, sketch) => console.log(count, sum, min, max, Math.round(sketch.getValueAtQuantile(1)));
const sent = new DDSketch();
for (const value of [10, 20, 60]) sent.accept(value);
show(sent, sent);
const read = DDSketch.fromProto(sent.toProto());
show(read, read);
const all = new DDSketch();
all.accept(1);
all.merge(read);
show(all, all);
END
seen=$(node read.cjs)
echo "$seen"
[ "$seen" = '3 90 10 60 60
3 0 Infinity -Infinity 60
4 1 1 1 60' ]

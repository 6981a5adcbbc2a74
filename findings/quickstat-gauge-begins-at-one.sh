#!/usr/bin/env bash
# @quickstat/core 0.0.4 (npm) sets a gauge to 1 where the first thing that happens to its labels is a decrement by 1, and an increment by -5 is
# one by 5. The total of a gauge with labels is the value that was set last, not the sum. Labels are told apart by their values joined by
# commas: ("x,y", "z") and ("x", "y,z") are one series. Needs Node.js.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$folder" @quickstat/core@0.0.4 >/dev/null
cat >count.cjs <<'END'
const { MultiCounter, MultiGauge, SingleGauge } = require('@quickstat/core');

const labels = ['node', 'store'];
const gauge = new MultiGauge({ name: 'connections', description: 'Open.', labels });
gauge.dec(['n1', 's1']);
console.log('0 - 1 =', gauge.getValue(['n1', 's1']));
gauge.dec(['n1', 's1']);
console.log('0 - 2 =', gauge.getValue(['n1', 's1']));
const offset = new SingleGauge({ name: 'offset', description: 'Offset.' });
offset.inc(-5);
console.log('0 + -5 =', offset.getValue());
gauge.set(['n1', 's1'], 10);
gauge.set(['n2', 's2'], 7);
console.log('10 + 7 =', gauge.getTotalValue());
const counter = new MultiCounter({ name: 'hits', description: 'Hits.', labels });
counter.inc(['x,y', 'z'], 1);
counter.inc(['x', 'y,z'], 2);
console.log(JSON.stringify(counter.values));
END
seen=$(node count.cjs)
echo "$seen"
[ "$seen" = '0 - 1 = 1
0 - 2 = 0
0 + -5 = 5
10 + 7 = 7
[{"labels":["x,y","z"],"value":3,"sum":3}]' ]

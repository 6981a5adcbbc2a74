#!/usr/bin/env bash
# kubernetes-resource-parser 0.1.0 (npm) reads the CPU usage 250000000n, as the metrics API of Kubernetes writes a quarter of a core, as
# 250,000,000 cores. Of memory it reads 1.5Gi as 1 byte, 129e6 as 129 and 0.5M as 0, each a quantity of Kubernetes. k8s-resource-parser 0.2.2
# reads these three, and refuses the first. Needs Node.js.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$folder" kubernetes-resource-parser@0.1.0 k8s-resource-parser@0.2.2 \
  nearley@2.20.1 >/dev/null
cat >read.cjs <<'END'
const one = require('kubernetes-resource-parser');
const other = require('k8s-resource-parser');

const attempt = (read) => {
  try {
    return read();
  } catch (error) {
    return error.name;
  }
};
for (const [read, ...quantities] of [
  ['cpuParser', '250m', '250000000n', '250000u', '1k'],
  ['memoryParser', '2Gi', '1.5Gi', '129e6', '0.5M'],
])
  for (const quantity of quantities)
    console.log(
      read,
      quantity,
      attempt(() => one[read](quantity)),
      attempt(() => other[read](quantity)),
    );
END
seen=$(node read.cjs)
echo "$seen"
[ "$seen" = 'cpuParser 250m 0.25 0.25
cpuParser 250000000n 250000000 SyntaxError
cpuParser 250000u 250000 SyntaxError
cpuParser 1k 1 1000
memoryParser 2Gi 2147483648 2147483648
memoryParser 1.5Gi 1 1610612736
memoryParser 129e6 129 129000000
memoryParser 0.5M 0 500000' ]

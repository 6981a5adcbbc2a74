#!/usr/bin/env bash
# playwright-prometheus-remote-write-reporter 0.0.4 (npm) gives each test the time of all tests before it, and sends their samples once more
# under its name: after 100 ms of login, 5 ms of logout are `pw_test_step_total_duration` 0, 100, 105. It drops the copy that `reset` returns.
# What it sends is caught before the network here. Needs Node.js.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts --legacy-peer-deps --prefix "$folder" prometheus-remote-write@0.5.1 \
  playwright-prometheus-remote-write-reporter@0.0.4 >/dev/null
cat >report.cjs <<'END'
const { default: Reporter } = require('playwright-prometheus-remote-write-reporter');

const reporter = new Reporter();
reporter.send = async (series) => {
  for (const { labels, samples } of series)
    if (labels.__name__ === 'pw_test_step_total_duration') console.log(labels.testTitle, ...samples.map((sample) => sample.value));
};
const location = { file: 'a.spec.ts', line: 1, column: 1 };
const run = async (id, duration) => {
  const test = { id, title: id, annotations: [], parent: { title: 'suite' }, location, expectedStatus: 'passed' };
  const step = { category: 'test.step', title: 'step', duration };
  const result = { status: 'passed', duration, attachments: [], steps: [step], parallelIndex: 0, workerIndex: 0, retry: 0 };
  await reporter.onStepEnd(test, result, step);
  await reporter.onTestEnd(test, result);
};
run('login', 100).then(() => run('logout', 5));
END
seen=$(node report.cjs)
echo "$seen"
[ "$seen" = 'login 0 100
logout 0 100 105' ]

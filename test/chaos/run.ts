// `npm run test:chaos -- --seeds N [--seed S] [--width W]`: N trials, the first with seed S, W at a time.
import { parseArgs } from 'node:util';
import { hasPythonModule } from '../support/programs.ts';
import { readByPython } from './independent-reader.ts';
import { heldBytes } from './memory.ts';
import { type Outcome, runTrials } from './trials.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '30' },
    seed: { type: 'string', default: '1' },
    width: { type: 'string', default: '2' },
  },
});
const failed: number[] = [];
const hasPython = hasPythonModule('prometheus_client');
if (!hasPython)
  console.log('skipped: reading the texts by Python, whose prometheus_client is absent');
const outcomes = await runTrials({
  first: Number(values.seed),
  count: Number(values.seeds),
  width: Number(values.width),
  onOutcome: report,
});
const seconds = outcomes.map((outcome) => outcome.seconds).toSorted((a, b) => a - b);
const median = seconds[Math.floor(seconds.length / 2)] ?? 0;
const held = (heldBytes() / 1024 / 1024).toFixed(1);
console.log(
  `median ${median.toFixed(2)} s, longest ${seconds.at(-1)?.toFixed(2)} s, ${held} MiB held`,
);
const verdict = failed.length === 0 ? 'all are good' : `failed: ${failed.join(', ')}`;
console.log(`${outcomes.length} seeds from ${values.seed} on: ${verdict}`);
process.exitCode = failed.length === 0 ? 0 : 1;

function report({ seed, seconds: took, trial, failure }: Outcome): void {
  const unread = trial && hasPython ? readByPython(trial.texts) : undefined;
  const fault = failure ?? (unread && `seed ${seed}: Python cannot read it: ${unread}`);
  if (fault !== undefined) {
    failed.push(seed);
    console.error(fault);
  } else if (trial !== undefined) {
    const { scrapes, polls, goodPolls } = trial;
    console.log(
      `seed ${seed}: ${took.toFixed(2)} s, ${scrapes} scrapes, ${goodPolls} of ${polls} polls good`,
    );
  }
}

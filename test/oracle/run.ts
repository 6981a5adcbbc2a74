// `npm run test:oracle -- --worlds 1000 --seed 1`: plays random histories, and judges all that is said of them.
// A world that fails is printed with its seed and a short history: `--history FILE` plays such a one again.
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { drawHistory, type History } from './history.ts';
import { failureOf, play, type Played } from './play.ts';
import { shrink } from './shrink.ts';
import { Tally } from './verdicts.ts';

const { values } = parseArgs({
  options: {
    worlds: { type: 'string', default: '100' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    history: { type: 'string' },
    story: { type: 'boolean', default: false },
    shrink: { type: 'boolean', default: true },
  },
  allowNegative: true,
});

const tally = new Tally();
let failed = 0;
const startMs = performance.now();
if (values.history === undefined) {
  const first = Number(values.seed);
  const worlds = Number(values.worlds);
  console.log(`worlds ${first} to ${first + worlds - 1}`);
  for (let seed = first; seed < first + worlds; seed += 1) await judge(drawHistory(seed));
} else {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- printed by this program
  await judge(JSON.parse(readFileSync(values.history, 'utf8')) as History);
}
console.log(tally.toText());
console.log(`${failed} worlds failed; ${Math.round((performance.now() - startMs) / 1000)} s`);
process.exitCode = failed === 0 ? 0 : 1;

async function judge(history: History): Promise<void> {
  const played = await play(history);
  tally.add(played.tally);
  const failure = failureOf(played);
  if (values.story) console.log(played.story.join('\n'));
  if (failure === undefined) return;
  failed += 1;
  console.log(`\nworld ${history.seed}: ${failure}`);
  if (values.shrink) await explain(history, kindOf(played));
}

/** What the shorter history must do, too. */
function kindOf(played: Played): string | undefined {
  return failureOf(played)?.replaceAll(/\d+/g, 'N').slice(0, 30);
}

async function explain(history: History, kind: string | undefined): Promise<void> {
  const shorter = await shrink(history, async (each) => kindOf(await play(each)) === kind);
  const { story, ...played } = await play(shorter);
  console.log(`${shorter.steps.length} of ${history.steps.length} steps:`);
  console.log(story.join('\n'));
  console.log(JSON.stringify(played.history));
}

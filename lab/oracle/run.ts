// `npm run lab -- oracle --worlds 1000 --seed 1`: plays random histories, and judges all that is said of them, in `--jobs` processes.
// A world that fails is printed with its seed and a short history: `--history FILE` plays such a one again.
import { type ChildProcess, fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { drawHistory } from './draw.ts';
import type { History } from './history.ts';
import { failureOf, play, type Played } from './play.ts';
import { shrink } from './shrink.ts';
import { Tally, type TallyCounts } from './verdicts.ts';

/** A world spends two thirds of its time waiting. */
const JOBS_PER_CORE = 3;
/** The largest share of answers that may be "not known" while it is calm. */
const MAX_UNKNOWN_SHARE = 0.02;
/** Of fewer answers the share says nothing. */
const MIN_CALM_ANSWERS = 1000;

const { values } = parseArgs({
  options: {
    worlds: { type: 'string', default: '100' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    jobs: { type: 'string', default: String(JOBS_PER_CORE * availableParallelism()) },
    history: { type: 'string' },
    story: { type: 'boolean', default: false },
    shrink: { type: 'boolean', default: true },
    worker: { type: 'boolean', default: false },
  },
  allowNegative: true,
});

/** What is said of a played world. */
interface Report {
  readonly text: string;
  readonly counts: TallyCounts;
  readonly failed: boolean;
}

const tally = new Tally();
let failed = 0;

if (values.worker) {
  process.on('message', (seed: number) => {
    void judge(drawHistory(seed)).then((report) => process.send?.(report));
  });
} else {
  const startMs = performance.now();
  if (values.history === undefined) await playAll();
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- printed by this program
  else take(await judge(JSON.parse(readFileSync(values.history, 'utf8')) as History));
  console.log(tally.toText());
  const tooMany = (['calm', 'wide'] as const).filter(
    (which) =>
      tally.countCalmAnswers(which) >= MIN_CALM_ANSWERS &&
      tally.calmUnknownShare(which) > MAX_UNKNOWN_SHARE,
  );
  for (const which of tooMany) console.log(`more than 2 % are not known: ${which}`);
  console.log(`${failed} worlds failed; ${Math.round((performance.now() - startMs) / 1000)} s`);
  process.exitCode = failed + tooMany.length === 0 ? 0 : 1;
}

/** Each process plays the next seed when it has played one. */
async function playAll(): Promise<void> {
  const first = Number(values.seed);
  const end = first + Number(values.worlds);
  console.log(`worlds ${first} to ${end - 1}`);
  let next = first;
  const feed = (worker: ChildProcess): void => {
    if (next === end) worker.disconnect();
    else worker.send(next++);
  };
  const flags = [
    '--worker',
    ...(values.story ? ['--story'] : []),
    ...(values.shrink ? [] : ['--no-shrink']),
  ];
  const jobs = Math.min(Number(values.jobs), end - first);
  const workers = Array.from({ length: jobs }, async () => {
    const worker = fork(import.meta.filename, flags);
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    worker.on('message', (report: Report) => {
      take(report);
      feed(worker);
    });
    worker.on('exit', (code) => {
      if (code === 0) resolve(undefined);
      else reject(new Error(`a process ended with ${code}`));
    });
    feed(worker);
    await promise;
  });
  await Promise.all(workers);
}

function take({ text, counts, failed: hasFailed }: Report): void {
  if (text !== '') console.log(text);
  tally.add(counts);
  if (hasFailed) failed += 1;
}

async function judge(history: History): Promise<Report> {
  const played = await play(history);
  const { seed } = history;
  const failure = failureOf(played);
  const lines = values.story ? [...played.story] : [];
  if (failure !== undefined) lines.push('', `world ${seed}: ${failure}`);
  if (failure !== undefined && values.shrink) {
    lines.push(...(await explain(history, kindOf(played))));
  }
  return {
    text: lines.join('\n'),
    counts: played.tally.toCounts(),
    failed: failure !== undefined,
  };
}

/** What the shorter history must do, too. */
function kindOf(played: Played): string | undefined {
  return failureOf(played)?.replaceAll(/\d+/g, 'N').slice(0, 30);
}

async function explain(history: History, kind: string | undefined): Promise<readonly string[]> {
  const shorter = await shrink(history, async (each) => kindOf(await play(each)) === kind);
  const { story, ...played } = await play(shorter);
  return [
    `${shorter.steps.length} of ${history.steps.length} steps:`,
    ...story,
    JSON.stringify(played.history),
  ];
}

// `npm run lab -- NAME [ARGUMENTS]`: what takes too long for `npm test`, or needs somebody. lab/README.md says what each one proves.
import { execFileSync, spawn } from 'node:child_process';
import path from 'node:path';

const ROOT = path.join(import.meta.dirname, '..');

interface Experiment {
  readonly command: readonly string[];
  /** For variables without a value. */
  readonly variables?: Readonly<Record<string, string>>;
  /** It needs programs of Debian's newest release. */
  readonly needsNewest?: true;
}

const vitest = (...args: readonly string[]): readonly string[] => [
  'node_modules/vitest/vitest.mjs',
  'run',
  ...args,
];

const EXPERIMENTS: Readonly<Record<string, Experiment>> = {
  oracle: { command: ['lab/oracle/run.ts'] },
  chaos: {
    command: vitest('--project', 'timed', 'test/chaos'),
    variables: { CHAOS_SEEDS: '30' },
  },
  mutation: { command: ['lab/mutation/run.ts'] },
  'rules-mutation': { command: ['lab/mutation/rules/mutate.ts'] },
  rules: { command: ['lab/rules/run.ts'] },
  days: {
    command: vitest('test/rules/exposed/exposed.test.ts'),
    variables: { RULES_DAYS: '2' },
  },
  vmalert: {
    command: vitest('--project', 'together', 'test/rules/vmalert.test.ts'),
    variables: { RULES_SECONDS: '54' },
    needsNewest: true,
  },
  rulers: { command: ['lab/rulers/run.ts'], needsNewest: true },
  fuzz: {
    command: vitest('--project', 'together', 'test/exporter/server/fuzz.test.ts'),
    variables: { FUZZ_REQUESTS: '100000' },
  },
  lives: {
    command: vitest('--project', 'together', 'test/exporter/long-lives.test.ts'),
    variables: { LONG_LIVES_ROUNDS: '250' },
  },
  memory: {
    command: vitest('--project', 'together', 'test/e2e/endless.test.ts'),
    variables: { ENDLESS_RANGES: '1500000' },
  },
  agents: { command: ['lab/agents/run.ts'], needsNewest: true },
  grafana: { command: ['lab/grafana/run.ts'] },
  live: { command: ['lab/live/run.ts'] },
  soak: { command: ['bench/soak.ts'] },
};

const [name = '', ...args] = process.argv.slice(2);
const experiment = EXPERIMENTS[name];
if (experiment === undefined) {
  const names = Object.keys(EXPERIMENTS).join(', ');
  console.error(`usage: npm run lab -- NAME [ARGUMENTS], where NAME is one of ${names}`);
  process.exitCode = 2;
} else {
  const newest = experiment.needsNewest && {
    NEWEST_PROMETHEUS: execFileSync(path.join(ROOT, '.ci/newest-prometheus'), {
      encoding: 'utf8',
    }).trim(),
  };
  const env = { ...newest, ...experiment.variables, ...process.env };
  const child = spawn(process.execPath, [...experiment.command, ...args], {
    cwd: ROOT,
    stdio: 'inherit',
    env,
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => void child.kill(signal));
  child.on('close', (code) => {
    process.exitCode = code ?? 1;
  });
}

import { expect, test } from 'vitest';
import { CLUSTER } from './bad-file.ts';
import { loadText, problemsOf } from './loading.ts';

const CLUSTERS = Array.from(
  { length: 2_000 },
  (_, index) => `  - { name: c${index}, cluster_api: `,
);
const RIGHT = `clusters:\n${CLUSTERS.join('{ urls: ["https://crdb:8080"] } }\n')}{ urls: ["http://a:1"] } }\n`;
const WRONG = `clusters:\n${CLUSTERS.join('{ urls: [5], timeout: 5 } }\n')}{ colour: 5 } }\n`;
/** Lists of nine aliases of the list before: 9 ** 11 values in less than 700 bytes. */
const ALIASES = [
  'a0: &a0 [x, x, x, x, x, x, x, x, x]\n',
  ...Array.from({ length: 10 }, (_, index) => {
    const aliases = Array.from({ length: 9 }, () => `*a${index}`);
    return `a${index + 1}: &a${index + 1} [${aliases.join(', ')}]\n`;
  }),
].join('');

/** Other work on the machine, and a collection of garbage, make a single measurement longer. */
const ATTEMPTS = 3;

/** Microseconds of CPU time of this thread. */
async function measure(work: () => Promise<unknown>): Promise<number> {
  const start = process.threadCpuUsage();
  await work();
  const { user, system } = process.threadCpuUsage(start);
  return user + system;
}

test('a file is refused about as fast as 2,000 clusters are loaded, whatever is wrong with it', async () => {
  const right = await measure(() => loadText(RIGHT));
  const files = {
    aliases: ALIASES,
    'wrong clusters': WRONG,
    'clusters of one name': WRONG.replaceAll(/name: c\d+/g, 'name: c').replaceAll(
      '[5], timeout: 5',
      '["http://a:1"]',
    ),
    'an unknown key': `${RIGHT}colour: 5\n`,
    'unknown keys': Array.from({ length: 10_000 }, (_, index) => `k${index}: 1\n`).join(''),
    'one key': 'k: 1\n'.repeat(10_000),
    'slashes in a URL': `${CLUSTER.replace('crdb:8080', `a/${'/'.repeat(100_000)}x`)}colour: 5\n`,
    'slashes in a text': `log: { level: "${'/'.repeat(100_000)}" }\n`,
    'closing brackets': '}'.repeat(500_000),
    'lines of closing brackets': 'a: }\n'.repeat(100_000),
    'merged maps': `x: &a { a: 1, b: 2 }\ny: { <<: [${'*a,'.repeat(5_000)}] }`,
  };
  for (const [name, yaml] of Object.entries(files)) {
    let ratio = Infinity;
    for (let attempt = 0; attempt < ATTEMPTS && ratio > 4; attempt += 1) {
      ratio = (await measure(() => problemsOf(loadText(yaml)))) / right;
    }
    expect([name, ratio > 4 ? ratio : 'fast']).toEqual([name, 'fast']);
  }
});

test('of many problems a hundred are listed, and that there are more', async () => {
  const problems = await problemsOf(loadText(WRONG));
  expect(problems).toHaveLength(101);
  expect(problems.at(-1)).toBe('and more: these are 100 of those found');
});

test('aliases may stand for as many values as a file may have, and no more', async () => {
  const cluster = 'cluster_api: &api { urls: ["https://crdb:8080"], timeout: 7s }';
  const others = Array.from(
    { length: 999 },
    (_, index) => `  - { name: c${index}, cluster_api: *api }\n`,
  );
  const { config } = await loadText(`clusters:\n  - { name: c, ${cluster} }\n${others.join('')}`);
  const timeouts = config.clusters.map(({ cluster_api }) => cluster_api?.timeout);
  expect(timeouts).toEqual(Array(1000).fill(7));
  expect(await problemsOf(loadText(ALIASES))).toEqual([
    'exporter.yml:6:10: more than 100000 values, where each alias counts as all that it stands for: write fewer',
  ]);
});

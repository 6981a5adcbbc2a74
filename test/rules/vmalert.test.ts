import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { eventually } from '../support/prometheus.ts';
import { NEWEST, startVictoriaMetrics, startVmalert } from '../support/victoria-metrics.ts';
import { closureOf, readRules, withoutTexts } from './rule-set.ts';
import { worldsOfOneForm } from './safe-to-stop-cases.ts';
import { samplesOf } from './safe-to-stop-world.ts';

const RULE = 'crdb_cluster_node_id:crdb_safe_to_stop:bool';
const WORLDS = worldsOfOneForm();
/** Two live nodes do not reach each other. */
const APART = WORLDS.find(([{ network }]) => network?.pairs !== undefined);
/** The rules are evaluated every second. */
const WORLD_SECONDS = 6;
/** With RULES_SECONDS=60 or more a chain of recorded series would have begun and be late: new series take seconds to appear. */
const SECONDS = Number(process.env['RULES_SECONDS'] ?? 18);
const CALM_SECONDS = 3;
/** vmalert evaluates a moment this much later: all samples of it can be read then. */
const DELAY_SECONDS = 4;

interface Exported {
  readonly metric: Readonly<Record<string, string>>;
  readonly values: readonly number[];
  readonly timestamps: readonly number[];
}

test.skipIf(NEWEST === undefined)(
  'vmalert says yes only of nodes that may stop at that moment',
  { timeout: 120_000 + 1000 * SECONDS },
  async () => {
    await using folder = await mkdtempDisposable(path.join(tmpdir(), 'crdb-exporter-vmalert-'));
    await using storage = await startVictoriaMetrics();
    const { url } = storage;
    const rules = path.join(folder.path, 'rules.yml');
    const groups = closureOf(withoutTexts(readRules()), [RULE]).map((group) => ({
      ...group,
      interval: '1s',
    }));
    await writeFile(rules, stringify({ groups }, { aliasDuplicateObjects: false }));
    await using _ruler = await startVmalert(url, rules, [
      '-remoteWrite.flushInterval=100ms',
      `-rule.evalDelay=${DELAY_SECONDS}s`,
    ]);
    const begin = Math.ceil(Date.now() / 1000);
    for (let second = 0; second < SECONDS + CALM_SECONDS; second += 1) {
      await sleep(Math.max(0, 1000 * (begin + second) - Date.now()));
      const lines = WORLDS.flatMap((_, cluster) => {
        const [world = {}] = worldAt(second, cluster) ?? [];
        return Array.from(
          samplesOf(`c${cluster}`, world, (begin + second) / 60),
          ([series, value]) => `${series} ${value} ${1000 * (begin + second)}`,
        );
      });
      await storage.import(lines);
    }
    const said = await eventually(async () => {
      const found = await readYes(url, begin);
      return found.some(({ second }) => second >= SECONDS) ? found : undefined;
    });
    const wrong = said.filter(
      ({ cluster, node, second }) => worldAt(second, cluster)?.[1].includes(node) !== true,
    );
    expect(wrong).toEqual([]);
  },
);

/** A cluster for each world: the nodes are apart by turns with it. In the end nothing speaks against a stop. */
function worldAt(second: number, cluster: number): (typeof WORLDS)[number] | undefined {
  if (second >= SECONDS) return WORLDS[0];
  return Math.floor(second / WORLD_SECONDS) % 2 === 0 ? APART : WORLDS[cluster];
}

/** When the rule was 1, of which node, in seconds since the beginning. */
async function readYes(url: string, begin: number) {
  await fetch(`${url}/internal/force_flush`);
  const target = `${url}/api/v1/export?match[]=${encodeURIComponent(RULE)}`;
  const lines = (await (await fetch(target)).text()).split('\n').filter((line) => line !== '');
  return lines.flatMap((line) => {
    const { metric, values, timestamps }: Exported = JSON.parse(line);
    const cluster = Number(metric['crdb_cluster']?.slice(1));
    return timestamps.flatMap((timestamp, at) =>
      values[at] === 1
        ? [{ cluster, node: metric['node_id'] ?? '', second: Math.floor(timestamp / 1000) - begin }]
        : [],
    );
  });
}

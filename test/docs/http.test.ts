import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { startSimulator } from '../../simulator/index.ts';
import { clusterYaml, startTestExporter } from '../support/exporter.ts';

const ROOT = path.join(import.meta.dirname, '../..');
const PAGE = readFileSync(path.join(ROOT, 'docs/http.md'), 'utf8');

/** The cells of the rows of the page whose first cell matches. */
function rows(first: RegExp): readonly (readonly string[])[] {
  return PAGE.split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim().replaceAll('`', '')),
    )
    .filter(([cell = '']) => first.test(cell));
}

const PATHS = rows(/^\//);

test('lists every path of the web server', () => {
  const sources = ['src/exporter', 'src/status'].flatMap((folder) =>
    readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map(
      (file) => `${folder}/${file}`,
    ),
  );
  const served = sources
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) => [
      ...readFileSync(path.join(ROOT, file), 'utf8').matchAll(/\bpath: '(\/[^']*)'/g),
    ])
    .map(([, found = '']) => found);
  const listed = PATHS.map(([target = '']) => target);
  expect(listed.toSorted()).toEqual(['/metrics', ...served].toSorted());
});

test('each path answers with the statuses that are listed', async () => {
  await using simulator = await startSimulator({ nodes: 3, ranges: 12, metricKeys: 'useful' });
  await using exporter = await startTestExporter({ yaml: `clusters:\n${clusterYaml(simulator)}` });
  await exporter.until((scrape) => scrape.all('crdb_nodes').length > 0);
  const queries = ['', '?cluster=sim', '?cluster=none', '?port=x', '?collect[]=none'];
  const seen = new Map<string, Set<number>>();
  for (const [target = ''] of PATHS) {
    const statuses = new Set<number>();
    for (const query of target === '/-/reload' ? [] : queries) {
      statuses.add((await exporter.get(target + query)).status);
    }
    seen.set(target, statuses);
    const { status } = await fetch(exporter.url + target, { method: 'DELETE' });
    expect(status).toBe(405);
  }
  for (const [target = '', , , statuses = ''] of PATHS) {
    const listed = statuses.split(', ').map(Number);
    expect({
      target,
      more: [...(seen.get(target) ?? [])].filter((one) => !listed.includes(one)),
    }).toEqual({ target, more: [] });
  }
  // A wrong parameter of each kind was noticed.
  expect(seen.get('/probe')).toEqual(new Set([400, 200, 404]));
  expect(seen.get('/sd/nodes')).toEqual(new Set([200, 404, 400]));
});

test('lists every label of the discovery', async () => {
  await using simulator = await startSimulator({ nodes: 3, ranges: 12, metricKeys: 'useful' });
  await using exporter = await startTestExporter({ yaml: `clusters:\n${clusterYaml(simulator)}` });
  await exporter.until((scrape) => scrape.all('crdb_nodes').length > 0);
  const labels = new Set<string>();
  for (const target of ['/sd/nodes', '/sd/clusters']) {
    const groups: { labels: Record<string, string> }[] = JSON.parse(
      (await exporter.get(target)).text,
    );
    for (const group of groups) for (const name of Object.keys(group.labels)) labels.add(name);
  }
  const listed = rows(/^__/).map(([name = '']) => name.replace('<tier>', ''));
  const tier = '__meta_crdb_locality_';
  const named = [...labels].map((name) => (name.startsWith(tier) ? tier : name));
  expect(new Set(named)).toEqual(new Set(listed));
});

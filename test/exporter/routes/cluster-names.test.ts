import { spawnSync } from 'node:child_process';
import path from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { quoteArgument } from '../../../src/base/format.ts';
import { linkFinding } from '../../../src/status/findings/problem.ts';
import { makeFolder } from '../../config/folder.ts';
import { loadText, problemsOf } from '../../config/loading.ts';
import { parseExposition } from '../../metrics/parse-exposition.ts';
import { hasProgram } from '../../support/programs.ts';
import { eventually, startPrometheus } from '../../support/prometheus.ts';
import { fetchPath } from './fetch-path.ts';
import { type Orchard, startOrchard } from './orchard.ts';

/** What has a meaning in YAML, URLs, HTML, shells, PromQL, regular expressions or templates. */
const SPECIAL = [
  ...':#&*!|>%@,[]{}?-$^().+=/~;<'.split(''),
  '{{ .Name }}',
  '${cluster}',
  '%s',
  '%41',
  '&amp;',
  '</b>',
  '--',
  '$__all',
  '.*',
  ' ',
  'ä',
  '集群',
  '🪲',
  'e\u0301',
];
/** What PromQL of dashboards and alerts, and commands in texts, have around a name. */
const QUOTES = ['"', "'", '`', '\\'];
const UNPRINTABLE = ['\n', '\t', '\0', '\u202E', '\u200B', '\u00AD', '\u2028', '\uD800'];

const parts = fc.array(
  fc.oneof(fc.constantFrom(...SPECIAL), fc.string({ minLength: 1, maxLength: 3 })),
  { minLength: 1, maxLength: 8 },
);
const anyName = parts.map((chosen) => chosen.join(''));
const goodName = anyName
  .map((name) => name.replaceAll(/["'`\\]/g, '').trim())
  .filter((name) => name !== '');

const NAMES = [
  ...fc
    .sample(fc.uniqueArray(goodName, { minLength: 12, maxLength: 12 }), { numRuns: 1, seed: 39 })
    .flat(),
  ...SPECIAL.filter((name) => name.trim() !== ''),
  'a'.repeat(128),
  '🪲'.repeat(64),
];

/** JSON is YAML, too. */
function configOf(names: readonly string[]): string {
  const clusters = names.map((name) => ({ name, cluster_api: { urls: ['http://127.0.0.1:9'] } }));
  return JSON.stringify({ clusters });
}

async function start(names: readonly string[]): Promise<Orchard> {
  const folder = await makeFolder({ 'exporter.yml': configOf(names) });
  const file = path.join(folder, 'exporter.yml');
  return startOrchard({
    flags: { 'config.file': file, 'cluster.url': undefined, 'cluster.name': undefined },
  });
}

function clustersOf(text: string): ReadonlySet<string> {
  const samples = parseExposition(text).filter(
    ({ name }) => name === 'crdb_exporter_cluster_configured',
  );
  return new Set(samples.map(({ labels }) => labels['crdb_cluster'] ?? ''));
}

describe('the name of a cluster', () => {
  const names = [...new Set(NAMES)];

  test('is the same in metrics, discovery, probes, links and pages', async () => {
    const { url } = await start(names);
    const { text } = await fetchPath(url, '/metrics');
    expect(clustersOf(text)).toEqual(new Set(names));
    const found: unknown = JSON.parse((await fetchPath(url, '/sd/clusters')).text);
    expect(found).toEqual(
      names.map((name) =>
        expect.objectContaining({ labels: expect.objectContaining({ __param_cluster: name }) }),
      ),
    );
    const shown = await fetchPath(url, '/config', { headers: { accept: 'application/yaml' } });
    const config: { readonly clusters: readonly { readonly name: string }[] } = parse(shown.text);
    expect(config.clusters.map(({ name }) => name)).toEqual(names);
    const page = await fetchPath(url, '/');
    const links = Array.from(
      page.text.matchAll(/href="\.\/(\?cluster=[^"]*)"/g),
      ([, link]) => link,
    );
    expect(links).toHaveLength(names.length);
    for (const [at, name] of names.entries()) {
      const chosen = await fetchPath(url, `/${links[at]}`);
      const [, title = ''] = /<title>([^<]*)<\/title>/.exec(chosen.text) ?? [];
      expect(decodeHtml(title).startsWith(`${name}: `)).toBe(true);
      const query = `cluster=${encodeURIComponent(name)}`;
      const probed = await fetchPath(url, `/probe?${query}&collect[]=apples`);
      expect([name, probed.status]).toEqual([name, 200]);
      const dashboard = linkFinding(
        { about: 'nodes' },
        { dashboard_url: 'https://grafana.example', runbook_url: '' },
        { name },
      ).dashboardUrl;
      expect(new URL(dashboard ?? '').searchParams.get('var-cluster')).toBe(name);
    }
  });

  test('is one argument of a command in advice', () => {
    const { stdout } = spawnSync('sh', [
      '-c',
      `printf '%s\\n' ${names.map(quoteArgument).join(' ')}`,
    ]);
    expect(String(stdout).split('\n').slice(0, -1)).toEqual(names);
  });

  test.skipIf(!hasProgram('promtool'))('is a label that promtool accepts', async () => {
    const { url } = await start(names);
    const { text } = await fetchPath(url, '/metrics');
    // promtool 3 needs the square of the series: minutes for all families, which have the same label.
    const input = text.match(/^.*\bcrdb_exporter_cluster_configured\b.*\n/gm)?.join('') ?? '';
    expect(clustersOf(input)).toEqual(new Set(names));
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input });
    expect([status, String(stdout), String(stderr)]).toEqual([0, '', '']);
  });

  test.skipIf(!hasProgram('prometheus'))(
    'selects its series in the queries of alerts and dashboards',
    async () => {
      const { url } = await start(names);
      await using prometheus = await startPrometheus(
        `global: { scrape_interval: 1s }\nscrape_configs:\n  - job_name: crdb-exporter\n    static_configs: [{ targets: ['${new URL(url).host}'] }]\n`,
      );
      const series = 'crdb_exporter_cluster_configured';
      await eventually(async () => (await prometheus.query(series)).at(0));
      for (const name of names) {
        // As alerts write it, and as Grafana writes the value of a variable for one and for several.
        const escaped = name.replaceAll(/[$^*{}[\]+?.()|]/g, String.raw`\\$&`);
        for (const matcher of [`="${name}"`, `=~"${escaped}"`]) {
          // A scrape may fail on a slow machine.
          const query = `last_over_time(${series}{crdb_cluster${matcher}}[10m])`;
          const selected = await prometheus.query(query);
          expect(selected.map(({ labels }) => labels['crdb_cluster'])).toEqual([name]);
        }
      }
    },
  );

  test('is refused with the reason where it has quotes or cannot be printed', async () => {
    const bad = fc.tuple(goodName, fc.constantFrom(...QUOTES, ...UNPRINTABLE), goodName);
    const reason =
      'is not a name of at most 128 printable characters without quotes, backslashes or a space at either end';
    await fc.assert(
      fc.asyncProperty(bad, async (chosen) => {
        const problems = await problemsOf(loadText(configOf([chosen.join('')])));
        expect(problems).toEqual([expect.stringContaining(`clusters[0].name: `)]);
        expect(problems[0]).toContain(reason);
      }),
      { numRuns: 20 },
    );
    for (const name of ['a'.repeat(129), '🪲'.repeat(65), ' a', 'a\u00A0'])
      expect((await problemsOf(loadText(configOf([name]))))[0]).toContain(reason);
  });
});

function decodeHtml(text: string): string {
  return text.replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCodePoint(Number(code)));
}

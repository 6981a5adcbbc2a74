import { describe, expect, test } from 'vitest';
import type { ClusterStatus, Status } from '../../src/status/findings/status.ts';
import { html } from '../../src/status/page/html.ts';
import { renderPage } from '../../src/status/page/page.ts';
import { expectGolden } from '../support/golden.ts';
import { BLIND, CALM, DAY, HURT, LARGE, PARTIAL } from './page-clusters.ts';

const COMMANDS = {
  program: 'sudo crdb-exporter',
  options: ' --config.file=/etc/exporter.yml',
  variables: ['CRDB_TOKEN'],
};
const LINKS = {
  root: '',
  style: '/a.css',
  script: '/a.js',
  icon: '/a.svg',
  telemetryPath: '/metrics',
};

function render(clusters: readonly ClusterStatus[], name?: string): string {
  const collectors = { ok: 2, failing: 1, waiting: 1 };
  const [at, startedAt] = [`${DAY}14:00:00.000Z`, `${DAY}09:00:00.000Z`];
  const status: Status = {
    at,
    version: '1.2.3',
    startedAt,
    collectors,
    commands: COMMANDS,
    clusters,
  };
  return renderPage(status, LINKS, name);
}

function hurt(name: string, findings: ClusterStatus['findings']): ClusterStatus {
  return { ...HURT, name, findings };
}

/** What a person reads of it, without markup. */
function readPage(clusters: readonly ClusterStatus[], name?: string): string {
  return render(clusters, name)
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ');
}

/** Rows of the table with this label, without its head. */
function rowsOf(page: string, label: string): number {
  const [, body = ''] = page.split(`aria-label="${label}"`)[1]?.split('<tbody>') ?? [];
  return body.split('</tbody>')[0]?.match(/<tr/g)?.length ?? 0;
}

test.each([
  ['status-page-hurt', [HURT, BLIND], undefined],
  ['status-page-calm', [CALM, PARTIAL], 'calm'],
])('the golden file %s', async (file, clusters, name) => {
  const text = render(clusters, name);
  expect(text).toContain('14:00:00 UTC');
  await expectGolden(text, `test/golden/${file}.html`);
});

test('of eleven of everything ten have a row, and the findings beyond six are folded', () => {
  const page = render([LARGE]);
  const lists = [
    'Oldest problem ranges',
    'Hottest ranges',
    'Tables with most load',
    'Applications with the oldest transactions',
  ];
  expect(lists.map((label) => rowsOf(page, label))).toEqual(lists.map(() => 10));
  expect(readPage([LARGE])).toMatch(/Finding 5\. .* 3 more: 1 warning and 2 info .*Finding 6\./);
});

test('of a cluster that was seen in part says that it is not known, and advises nothing', () => {
  const text = readPage([CALM, PARTIAL], 'partial');
  for (const part of [
    'partial is unknown Not all of it has been polled yet',
    'There is not enough data yet.',
    'Whether all nodes reach each other is not known: node 2 did not tell which nodes it reaches.',
    'Not known: most of the nodes that were up could not be read. Read from 1 of 3 nodes.',
    'Not known: there is no scan.',
  ])
    expect(text).toContain(part);
});

test('without clusters has its head and says so', () => {
  expect(readPage([])).toMatch(/Skip to the content .* No cluster is configured As of 2026-/);
});

describe('the page', () => {
  test.each([1, 400, 5_000])('of %d nodes stays below 100 kB', (count) => {
    const list = Array.from({ length: count }, (_, at) => {
      const locality = `region=r${at % 10},zone=z${at % 30}`;
      return { id: at, status: 'live', locality, build: '', recordAt: undefined, isStale: false };
    });
    const text = render([{ ...CALM, nodes: { byStatus: { live: count }, builds: [], list } }]);
    expect(Buffer.byteLength(text)).toBeLessThan(100_000);
  });

  test('shows one of many clusters in full: the worst by default', () => {
    const clusters = Array.from({ length: 50 }, (_, at) => ({
      ...CALM,
      name: `c${at}`,
      state: at === 30 ? ('problems' as const) : ('healthy' as const),
    }));
    const text = render(clusters);
    expect(text).toContain('<title>c30: ');
    expect(text.match(/<h2/g)).toHaveLength(1);
    expect(text.match(/href="\.\/\?cluster=c\d+"/g)).toHaveLength(50);
    expect(Buffer.byteLength(text)).toBeLessThan(100_000);
  });

  test('of several clusters with problems shows one with a critical one, whatever problems the exporter has', () => {
    const [critical, warning] = HURT.findings;
    if (critical === undefined || warning === undefined) throw new Error('no findings');
    const ofExporter = { ...critical, about: 'exporter' as const };
    const worst = hurt('c', [critical, warning]);
    const others = [
      { ...BLIND, name: 'a' },
      hurt('b', [ofExporter, warning]),
      { ...CALM, name: 'd', findings: [ofExporter] },
    ];
    expect(render([...others, worst, hurt('e', [critical])])).toContain('<title>c: outage');
    expect(render(others)).toContain('<title>b: outage');
  });

  test('says what it does not read, and that the rest has nothing over a limit', () => {
    const text = render([{ ...CALM, notRead: ['sessions', 'ranges of other nodes'] }]);
    expect(text).toContain('<title>calm: nothing over a limit, as far as it is read');
    expect(text).toContain('Not read by this exporter: sessions and ranges of other nodes.');
    const damaged = render([{ ...HURT, notRead: ['sessions'] }]);
    expect(damaged).toContain('<title>prod: outage');
    expect(damaged).toContain('Not read by this exporter: sessions.');
  });

  test('is not calmer than its findings: a figure over the limit of an alert that only informs is not nothing', () => {
    const finding = {
      key: 'k',
      about: 'nodes',
      text: '',
      next: '',
      since: `${DAY}13:59:00Z`,
    } as const;
    const sign = { ...finding, level: 'info', alert: 'CrdbHotRange' } as const;
    const others = [
      { ...finding, level: 'info' },
      { ...sign, about: 'exporter' },
    ] as const;
    const text = render([{ ...CALM, findings: [sign, ...others] }]);
    expect(text).toContain('<title>calm: only information ');
    expect(text).toMatch(/class="headline info"[^]*calm has only information/);
    expect(render([{ ...CALM, findings: others }])).toContain('<title>calm: nothing over a limit ');
  });

  test('keeps the severity that was last known, and since when', () => {
    const [since, seenAt] = [`${DAY}13:50:00.000Z`, `${DAY}13:59:00.000Z`];
    const lastKnown = { worst: { level: 'critical', since, seenAt } } as const;
    const blind = { ...CALM, name: 'dark', state: 'unknown', lastKnown } as const;
    const mild = hurt(
      'mild',
      HURT.findings.filter(({ level }) => level === 'warning'),
    );
    const text = render([mild, blind]);
    expect(text).toContain('<title>dark: unknown, last known critical ');
    expect(text).toMatch(
      /class="headline critical"[^]*Last known:\s<b>critical since\s2026-11-21 13:50:00 UTC<\/b>/,
    );
  });

  test.each([
    ['auth', 'refuses the login'],
    ['timeout', 'does not respond'],
    ['forbidden', 'is failing'],
  ] as const)('of an API that fails with the reason %s says that it %s', (reason, text) => {
    const error = { reason, message: '', advice: '' };
    const collectors = CALM.collectors.map(
      (each) => ({ ...each, state: 'failing', error }) as const,
    );
    const blind = { ...CALM, state: 'unknown', collectors, lastKnown: {} } as const;
    expect(render([blind])).toContain(`The API ${text}: what was seen last`);
  });

  test('escapes text from clusters, clients and errors', () => {
    const nasty = `<img src=x onerror='a("b")'>&amp;`;
    const names =
      /movr\.public\.\w+|billing|us-east1|prod|401 Unauthorized|Restart it|4,567 ranges/g;
    const quoted = JSON.stringify(nasty).slice(1, -1);
    const hostile: ClusterStatus = JSON.parse(JSON.stringify(HURT).replaceAll(names, quoted));
    const text = render([hostile, CALM]);
    expect(text).not.toContain('<img');
    expect(text.match(/&#60;img/g)?.length).toBeGreaterThan(15);
    expect(text).not.toMatch(/<th scope="col"[^>]*>\s*<\/th>/);
  });
});

test('markup escapes values everywhere, and inserts markup as it is', () => {
  const list = ['<', undefined, false, html`<b>${'"'}</b>`, 7] as const;
  expect(html`<a title="${"'"}">${list}</a>`.text).toBe('<a title="&#39;">&#60;<b>&#34;</b>7</a>');
});

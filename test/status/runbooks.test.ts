import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { ALERT_NAMES } from '../../src/alerts/alerts.ts';
import { fetchPath } from '../exporter/routes/fetch-path.ts';
import { startOrchard } from '../exporter/routes/orchard.ts';
import { serveBelow } from '../support/prefix-proxy.ts';

const RUNBOOK = path.join(import.meta.dirname, '../../docs/runbooks/CrdbClusterApiDown.md');

/** The addresses that a page leads to. */
function linksOf(text: string): readonly string[] {
  return Array.from(text.matchAll(/(?:href|src)="([^"#]+)"/g), ([, link = '']) => link);
}

test('every alert has a page, and every link of every page works, below a path prefix, too', async () => {
  const { url } = await startOrchard();
  await using proxy = await serveBelow('/ops/crdb', url);
  const list = `${proxy.url}runbooks/`;
  const seen = new Set<string>([list]);
  const broken: string[] = [];
  for (const page of seen) {
    const response = await fetch(page);
    if (response.status === 404) broken.push(page);
    if (!page.startsWith(list)) continue;
    for (const link of linksOf(await response.text())) seen.add(new URL(link, page).href);
  }
  expect(broken).toEqual([]);
  const pages = [...seen].filter((page) => page.startsWith(list));
  expect(pages).toEqual(expect.arrayContaining(ALERT_NAMES.map((name) => `${list}${name}`)));
  expect(pages).toContain(`${list}run-commands`);
  // Nobody has the repository around the texts.
  expect([...seen].filter((page) => !page.startsWith(proxy.url))).toEqual([]);
});

test('a runbook is a page with its title, headings, lists and commands', async () => {
  const { url } = await startOrchard();
  const { text, headers, status } = await fetchPath(url, '/runbooks/CrdbClusterApiDown');
  expect([status, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
  expect(headers['content-security-policy']).toContain("default-src 'none'");
  expect(text).toContain('<title>CrdbClusterApiDown · crdb-exporter</title>');
  expect(text).toContain('<h2>CrdbClusterApiDown</h2>');
  expect(text).toContain('<h3>Diagnosis</h3>');
  expect(text).toMatch(/<ol>\s*<li>.*<code>cockroach sql --url/);
  // The exporter serves no page about series.
  expect((await fetchPath(url, '/runbooks/CrdbExporterLimitHit')).text).not.toContain('scale.md"');
});

test('a link with the name of the file works, and leads nowhere else', async () => {
  const { url } = await startOrchard();
  const page = await fetchPath(url, '/runbooks/CrdbNodeDead.md?from=alert');
  expect(page.text).toContain('<h2>CrdbNodeDead</h2>');
  for (const name of ['CrdbNothing', '..%2fmetrics', '%2e%2e', 'README.md.md', 'metrics']) {
    expect((await fetchPath(url, `/runbooks/${name}`)).status).toBe(404);
  }
});

test('runbooks need the password of the other pages, and the name of the exporter', async () => {
  const hash = '$2y$10$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi';
  const { url } = await startOrchard({
    webConfig: `basic_auth_users: { alice: ${hash} }\n`,
    flags: { 'web.external-url': 'https://crdb.example.com' },
  });
  expect((await fetchPath(url, '/runbooks/CrdbNodeDead')).status).toBe(401);
  const open = await startOrchard({ flags: { 'web.external-url': 'https://crdb.example.com' } });
  const headers = { host: 'evil.example' };
  expect((await fetchPath(open.url, '/runbooks/CrdbNodeDead', { headers })).status).toBe(403);
});

test('the page recommends the first command of the runbook while the API is down', () => {
  const [, command] = /## Diagnosis\n\n1\. `([^`]+)`/.exec(readFileSync(RUNBOOK, 'utf8')) ?? [];
  const page = readFileSync(
    path.join(import.meta.dirname, '../../src/status/page/page.ts'),
    'utf8',
  );
  expect(page).toContain(`"${command}"`);
});

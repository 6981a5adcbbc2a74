import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { writePage } from '../../dashboards/preview/page.ts';
import { drawPanel } from '../../dashboards/preview/panel.ts';
import { makeFolder } from '../config/folder.ts';
import { hasProgram } from '../support/programs.ts';
import { startPrometheus } from '../support/prometheus.ts';
import { PANELS } from './panels.ts';

const PREVIEW = path.join(import.meta.dirname, '../../dashboards/preview/preview.ts');
const run = promisify(execFile);

/** A panel of these series, drawn. */
function draw(title: string, ...values: readonly (readonly [labels: object, value: number])[]) {
  const placed = PANELS.find((one) => one.title === `CockroachDB / ${title}`);
  if (placed === undefined) throw new Error(`no panel ${title}`);
  const { refId = 'A', legend = '' } = placed.queries[0] ?? {};
  const series = values.map(([labels, value]) => ({
    labels: Object.fromEntries(Object.entries(labels)),
    points: [
      [0, value],
      [30, value],
    ] as const,
  }));
  return drawPanel(placed.panel, [{ refId, legend, series }], {
    start: 0,
    end: 60,
    stepSeconds: 30,
  });
}

test('the preview prints how it is used', async () => {
  const { stdout } = await run(process.execPath, [PREVIEW, '--help']);
  expect(stdout).toMatch(/^Usage: npm run dashboards:preview/);
});

test('it draws names for codes, with their colours', () => {
  expect(draw('Overview / Health', [{}, 2]).html).toMatch(/background:red.*CRITICAL/);
  const { html } = draw('Overview / Reasons', [{ reason: 'nodes_down' }, 1]);
  expect(html).toBe('<div class="value" style="background:orange"><b>nodes_down</b></div>');
});

test('it says where there is no data', () => {
  const { html } = draw('Overview / Least free disk', [{}, Number.NaN]);
  expect(html).toMatch(/background:purple.*<b>no data<\/b>/);
});

test('it draws units in legends and on axes', () => {
  const drawn = draw('Nodes / SQL memory', [{ node_id: '7' }, 3 * 2 ** 30]);
  expect(drawn.html).toContain('</i>n7</td><td>3 GiB</td>');
  const page = writePage('page', [{ ...drawn, title: 'SQL memory', width: 12, height: 8 }], '');
  expect(page).toMatch(/callback: \(y\) => formatValue\(y, unit\)/);
  expect(page).toContain('"unit":"bytes"');
});

describe.skipIf(!hasProgram('prometheus'))('with a Prometheus without data', () => {
  test('it fills the variables of titles, and repeats panels', async () => {
    const folder = await makeFolder({});
    await using prometheus = await startPrometheus('global: {}');
    const { stdout } = await run(process.execPath, [PREVIEW, prometheus.url, 'sim', folder]);
    const files = stdout.split('\n').filter(Boolean);
    expect(files.length).toBe(8);
    for (const file of files) expect(readFileSync(file, 'utf8')).not.toMatch(/<h2>[^<]*\$/);
    const ranges = readFileSync(path.join(folder, 'crdb-ranges.html'), 'utf8');
    const repeated = Array.from(ranges.matchAll(/<h2>Problem: (\w+)/g), ([, name]) => name);
    expect(repeated.slice(0, 2)).toEqual(['unavailable', 'no_lease']);
    expect(repeated.length).toBe(12);
  });
});

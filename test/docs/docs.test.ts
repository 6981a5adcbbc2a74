import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { COLLECTORS } from '../../src/collectors/all-collectors.ts';
import { writeConfigurationPage } from '../../tools/docs/configuration-page.ts';
import { fieldsOf, writeFieldsPage } from '../../tools/docs/fields-page.ts';
import { writeLoadPage } from '../../tools/docs/load-table.ts';
import { RESPONSES } from '../../tools/docs/server-fields.ts';
import { makeFolder } from '../config/folder.ts';
import { loadText } from '../config/loading.ts';
import { FILES as PEM } from '../config/web-files.ts';
import { run } from '../rules/promtool.ts';
import { nameOf, readRules } from '../rules/rule-set.ts';
import { hasProgram } from '../support/programs.ts';

const ROOT = path.join(import.meta.dirname, '..', '..');

/** Every page of the project, by its path from the root. */
function listPages(): readonly string[] {
  const inDocs = readdirSync(path.join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' });
  const atRoot = readdirSync(ROOT);
  return [...inDocs.map((name) => `docs/${name}`), ...atRoot].filter((name) =>
    name.endsWith('.md'),
  );
}

function read(page: string): string {
  return readFileSync(path.join(ROOT, page), 'utf8');
}

/** Anchors that GitHub generates from headings. */
function anchorsOf(text: string): ReadonlySet<string> {
  const headings = text.matchAll(/^#+ (.+)$/gm);
  return new Set(
    Array.from(headings, ([, title = '']) =>
      title
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}

function findBrokenLinks(page: string): readonly string[] {
  const links = read(page).matchAll(/\]\(([^)\s]+)\)|^\[\w+\]: (\S+)$/gm);
  return Array.from(links, ([, target, defined]) => target ?? defined ?? '')
    .filter((target) => !/^(?:https?|mailto):/.test(target))
    .filter((target) => {
      const [file = '', anchor] = target.split('#');
      const found = file === '' ? page : path.join(path.dirname(page), file);
      if (!existsSync(path.join(ROOT, found))) return true;
      return anchor !== undefined && !anchorsOf(read(found)).has(anchor);
    });
}

/** Pages whose tables have texts of the source: metrics, settings, requests of collectors. */
const GENERATED = new Set(
  ['commands', 'configuration', 'load', 'metrics'].map((name) => `docs/${name}.md`),
);

/** The cells of the tables of a page, without blanks around them. */
function cellsOf(page: string): readonly string[] {
  const rows = read(page).matchAll(/^ *\|(.*)\| *$/gm);
  return [...rows].flatMap(([, cells = '']) => cells.split(/(?<!\\)\|/).map((cell) => cell.trim()));
}

/** The texts of the YAML blocks of a page. */
function yamlOf(page: string): readonly string[] {
  return Array.from(read(page).matchAll(/```yaml\n([^`]*)```/g), ([, text = '']) => text);
}

/** The files of src that read responses. */
function listSources(): readonly string[] {
  return readdirSync(path.join(ROOT, 'src'), { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.ts') && !/^(?:simulator|json|config|web)\//.test(name),
  );
}

/** Names in snake_case before a shape: `node_id: integer()`, `errors: array(`. Names of one word are too common. */
function shapeFields(file: string): readonly string[] {
  const field =
    /\b([a-z]+(?:_[a-z]+)+): (?:integer|number|string|boolean|time|raw|object|optional|array|last|record|selected|parsed|flags)\(/g;
  return Array.from(read(`src/${file}`).matchAll(field), ([, name = '']) => name);
}

describe('the pages of the project', () => {
  test.each(listPages())('%s has no broken links', (page) => {
    expect(findBrokenLinks(page)).toEqual([]);
  });

  test.each([...listPages(), 'lab/README.md'].filter((page) => !GENERATED.has(page)))(
    '%s has tables with cells of at most 120 characters',
    (page) => {
      expect(cellsOf(page).filter(({ length }) => length > 120)).toEqual([]);
    },
  );

  test('docs/configuration.md is the output of `npm run docs`', () => {
    expect(read('docs/configuration.md')).toBe(writeConfigurationPage());
  });

  test('tools/docs/server-fields.md has the fields of the shapes, by `npm run docs`', () => {
    expect(read('tools/docs/server-fields.md')).toBe(writeFieldsPage());
  });

  test('tools/docs/server-fields.md lists every field that a shape in src names', () => {
    const listed = new Set(RESPONSES.flatMap(fieldsOf).flatMap((name) => name.split(/\.|\[\]/)));
    const named = listSources().flatMap(shapeFields);
    expect(named).toContain('liveness_status');
    expect([...new Set(named)].filter((name) => !listed.has(name))).toEqual([]);
  });

  test('docs/load.md has the load of each collector, by `npm run docs`', () => {
    const page = read('docs/load.md');
    expect(page).toContain('`/users/`');
    expect(page).toBe(writeLoadPage(page));
  });

  test('docs/http.md names the collectors that /probe does not run by default', () => {
    const [, named = ''] =
      /`\/probe` runs (.+) only if they are named/.exec(read('docs/http.md')) ?? [];
    const expected = COLLECTORS.filter(({ inProbe }) => !inProbe).map(({ name }) => name);
    expect(named.split(/, | and /)).toEqual(expected);
  });

  test('name only alerts that exist', () => {
    const alerts = readRules().flatMap(({ rules }) => rules.map(nameOf));
    const named = listPages().flatMap((page) =>
      Array.from(read(page).matchAll(/\bCrdb[A-Z]\w+/g), ([name]) => name),
    );
    expect([...new Set(named)].filter((name) => !alerts.includes(name))).toEqual([]);
  });

  test('the first configuration is valid and has ten lines', async () => {
    const [config = ''] = yamlOf('docs/getting-started.md');
    expect(config.trimEnd().split('\n')).toHaveLength(10);
    const files = { password: 'hunter2', 'ca.crt': PEM['ca.crt'] };
    const { config: loaded, warnings } = await loadText(config, { files });
    expect(warnings).toEqual([]);
    expect(loaded.clusters.map(({ name }) => name)).toEqual(['shop-prod']);
  });

  test('the recipe for several clusters has a valid configuration', async () => {
    const [config = ''] = yamlOf('docs/multi-cluster.md');
    const secrets = ['shop-prod', 'billing-prod', 'shop-staging'].map((name) => [
      [`secrets/${name}`, 'hunter2'],
      [`tls/${name}.crt`, PEM['ca.crt']],
    ]);
    const files = Object.fromEntries(secrets.flat());
    const { config: loaded, warnings } = await loadText(config, { files });
    expect(warnings).toEqual([]);
    expect(loaded.clusters.map(({ name, poll }) => [name, poll])).toEqual([
      ['shop-prod', true],
      ['billing-prod', true],
      ['shop-staging', false],
    ]);
  });

  test.skipIf(!hasProgram('promtool'))('its Prometheus configuration is valid', async () => {
    const [, prometheus = ''] = yamlOf('docs/multi-cluster.md');
    const folder = await makeFolder({ 'prometheus.yml': prometheus });
    const file = path.join(folder, 'prometheus.yml');
    expect(await run('promtool', ['check', 'config', file])).toMatchObject({ passed: true });
  });

  test('findings/README.md lists every script', () => {
    const scripts = readdirSync(path.join(ROOT, 'findings')).filter((name) => name.endsWith('.sh'));
    const listed = read('findings/README.md').matchAll(/\]\(([\w-]+\.sh)\)/g);
    expect(Array.from(listed, ([, name]) => name)).toEqual(scripts.toSorted());
  });

  test('every page of docs can be reached from the README', () => {
    const reached = new Set(['README.md']);
    for (const page of reached) {
      for (const [, target = ''] of read(page).matchAll(/\]\(([^)#\s]+\.md)(?:#[^)]*)?\)/g)) {
        if (!/^https?:/.test(target)) reached.add(path.join(path.dirname(page), target));
      }
    }
    const pages = listPages().filter((page) => page.startsWith('docs/'));
    expect(pages.filter((page) => !reached.has(page))).toEqual([]);
  });
});

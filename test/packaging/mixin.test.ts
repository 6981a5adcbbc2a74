import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { hasJsonnet } from '../support/programs.ts';
import { ROOT } from './installed.ts';

interface Group {
  readonly name: string;
  readonly rules: readonly Readonly<Record<string, unknown>>[];
}

interface Mixin {
  readonly alerts: { readonly groups: readonly Group[] };
  readonly rules: { readonly groups: readonly Group[] };
  readonly dashboards: Readonly<Record<string, unknown>>;
}

/** The members of the mixin that tools read, after `change`. */
function evaluate(change = '{}'): Mixin {
  const file = JSON.stringify(path.join(ROOT, 'mixin.libsonnet'));
  const source = `local m = (import ${file}) + ${change};
{ alerts: m.prometheusAlerts, rules: m.prometheusRules, dashboards: m.grafanaDashboards }`;
  const { status, stdout, stderr } = spawnSync('jsonnet', ['--exec', source], {
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  });
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout);
}

function rulesOf({ groups }: { readonly groups: readonly Group[] }) {
  return groups.flatMap(({ name, rules }) => rules.map((rule) => ({ group: name, ...rule })));
}

const FOLDER = path.join(ROOT, 'dashboards');

test('the mixin names every dashboard', () => {
  const files = readdirSync(FOLDER).filter((name) => name.endsWith('.json'));
  const text = readFileSync(path.join(ROOT, 'mixin.libsonnet'), 'utf8');
  const named = Array.from(text.matchAll(/'(\S+)': import 'dashboards\/\1'/g), ([, name]) => name);
  expect(named).toEqual(files.toSorted());
});

describe.skipIf(!hasJsonnet())('the mixin (needs jsonnet)', () => {
  test('has all alerts, rules and dashboards', () => {
    const { alerts, rules, dashboards } = evaluate();
    const shipped = rulesOf(
      parse(readFileSync(path.join(ROOT, 'config/prometheus/rules.yml'), 'utf8')),
    );
    expect(shipped.length).toBeGreaterThan(100);
    expect(rulesOf(alerts)).toEqual(shipped.filter((rule) => 'alert' in rule));
    expect(rulesOf(rules)).toEqual(shipped.filter((rule) => 'record' in rule));
    for (const [name, board] of Object.entries(dashboards))
      expect(board).toEqual(JSON.parse(readFileSync(path.join(FOLDER, name), 'utf8')));
  });

  test.each([
    ['', ''],
    [' of a formatter', '---\n'],
    [' with a comment', '# Ours.\n---\n'],
  ])('takes other rules%s, and more of everything', (_how, start) => {
    const own = `${start}groups: [{ name: own, rules: [{ alert: Own, expr: '1' }] }]\n`;
    const more = "{ groups+: [{ name: 'more', rules: [] }] }";
    const { alerts, rules, dashboards } = evaluate(`{
      _config+:: { rules: ${JSON.stringify(own)} },
      prometheusAlerts+:: ${more},
      grafanaDashboards+:: { 'own.json': {} },
    }`);
    expect(alerts.groups.map(({ name }) => name)).toEqual(['own', 'more']);
    expect(rules.groups).toEqual([]);
    expect(dashboards).toHaveProperty(['own.json']);
  });
});

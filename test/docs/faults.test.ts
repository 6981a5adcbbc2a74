import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { listCatalogue } from '../../src/exporter/catalogue.ts';
import { PANELS } from '../dashboards/panels.ts';
import { nameOf, readRules } from '../rules/rule-set.ts';

const DOCS = path.join(import.meta.dirname, '..', '..', 'docs');
const RULES = readRules().flatMap(({ rules }) => rules);
const ALERTS = RULES.flatMap(({ alert }) => alert ?? []);
const COMMANDS = readFileSync(path.join(DOCS, 'commands.md'), 'utf8');

/** A line of the table of faults. */
interface Fault {
  readonly fault: string;
  readonly metrics: readonly string[];
  readonly alerts: readonly string[];
  /** Why there is no alert. */
  readonly reason: string | undefined;
  readonly panels: readonly string[];
  readonly command: string;
}

/** The part of the page with the tables of faults and of counters. */
const [, PART = ''] = readFileSync(path.join(DOCS, 'questions.md'), 'utf8').split(
  '\n## Faults of nodes and stores\n',
);

const FAULTS: readonly Fault[] = PART.split('\n')
  .map((line) => line.split('|').map((cell) => cell.trim()))
  .filter(([, , metric = '']) => metric.startsWith('`'))
  .map(([, fault = '', metric = '', alert = '', panel = '', command = '']) => ({
    fault,
    metrics: allIn(metric, /`(\w+)`/g),
    alerts: allIn(alert, /\[(Crdb\w+)\]/g),
    reason: /^none: (.{10,})$/.exec(alert)?.[1],
    panels: Array.from(
      panel.matchAll(/([A-Z][\w ]+): \*\*(.+?)\*\*/g),
      ([, board, title]) => `CockroachDB / ${board} / ${title}`,
    ),
    command,
  }));

function allIn(text: string, pattern: RegExp): readonly string[] {
  return Array.from(text.matchAll(pattern), ([, found = '']) => found);
}

/** Series and families that an expression names. */
function namesIn(expr: string): readonly string[] {
  return expr.match(/(?<![\w:])crdb_[\w:]+/g) ?? [];
}

/** The families that a rule reads, those of the recorded series that it reads included. */
function familiesOf(rule: string): ReadonlySet<string> {
  const found = new Set([rule]);
  // The set grows during the iteration, which visits added names too.
  for (const name of found) {
    const used = RULES.filter((one) => nameOf(one) === name).flatMap(({ expr }) => namesIn(expr));
    for (const one of used) found.add(one);
  }
  return found;
}

/** The families that each panel shows. */
const SHOWN = PANELS.map(({ title, queries }) => {
  const named = new Set(queries.flatMap(({ expr }) => namesIn(expr)));
  return { title, families: new Set([...named].flatMap((name) => [...familiesOf(name)])) };
});

function readsOne(names: Iterable<string>, { metrics }: Fault): boolean {
  return [...names].some((name) => metrics.includes(name));
}

describe('the table of faults', () => {
  test('has every family of the collector nodes, and only families that exist', () => {
    const families = listCatalogue();
    const named = new Set(FAULTS.flatMap(({ metrics }) => metrics));
    const ofNodes = families.filter(({ collector }) => collector === 'nodes');
    expect(ofNodes.map(({ name }) => name).filter((name) => !named.has(name))).toEqual([]);
    const known = new Set(families.map(({ name }) => name));
    expect([...named].filter((name) => !known.has(name))).toEqual([]);
  });

  test.each(FAULTS)('names an alert on the metric, or why there is none: $fault', (fault) => {
    expect(fault.alerts.length > 0).toBe(fault.reason === undefined);
    const read = fault.alerts.map((alert) => ({ alert, families: familiesOf(alert) }));
    expect(read.filter(({ families }) => !readsOne(families, fault))).toEqual([]);
    const isSilent = (name: string): boolean => !read.some(({ families }) => families.has(name));
    expect(fault.reason === undefined ? fault.metrics.filter(isSilent) : []).toEqual([]);
  });

  test('links each alert to its runbook', () => {
    const named = new Set(FAULTS.flatMap(({ alerts }) => alerts));
    const linked = allIn(PART, /^\[(Crdb\w+)\]: runbooks\/\1\.md$/gm);
    expect([...named].toSorted()).toEqual(linked);
  });

  test.each(FAULTS.filter(({ reason }) => reason !== undefined))(
    'says that there is no alert only where none reads the metric: $fault',
    ({ metrics }) => {
      const reading = ALERTS.filter((alert) =>
        metrics.some((metric) => familiesOf(alert).has(metric)),
      );
      expect(reading).toEqual([]);
    },
  );

  test.each(FAULTS)('names panels that show the metric: $fault', (fault) => {
    expect(fault.panels.length).toBeGreaterThan(0);
    const showing = SHOWN.filter(({ families }) => readsOne(families, fault)).map(({ title }) =>
      title.replace(' and hot ranges', '').replace('$', ''),
    );
    expect(fault.panels.filter((panel) => !showing.includes(panel))).toEqual([]);
  });

  test.each(FAULTS)('names a next step: $fault', ({ command }) => {
    expect(command).not.toBe('');
    const [, name] = /^`crdb-exporter (\w+)/.exec(command) ?? [];
    expect(name === undefined || COMMANDS.includes(`\n## ${name}\n`)).toBe(true);
  });
});

/** A line of the table of counters in the rules. */
interface Counter {
  readonly counters: readonly string[];
  readonly serverFile: string;
  readonly counts: string;
  readonly alerts: readonly string[];
}

const COUNTERS: readonly Counter[] = PART.split('\n')
  .map((line) => line.split('|').map((cell) => cell.trim()))
  .filter(([, counter = '']) => /^`crdb_\w+_total`/.test(counter))
  .map(([, counter = '', serverFile = '', counts = '', alerts = '']) => ({
    counters: allIn(counter, /`(\w+)`/g),
    serverFile,
    counts,
    alerts: allIn(alerts, /(Crdb\w+)/g),
  }));

const SERVER_COUNTER = /^crdb_(?:node|store)_\w+_total$/;

describe('the table of counters in the rules', () => {
  test('has every counter of nodes and stores that a rule reads, and no other', () => {
    const named = RULES.flatMap(({ expr }) => namesIn(expr));
    const read = new Set(named.filter((name) => SERVER_COUNTER.test(name)));
    expect(COUNTERS.flatMap(({ counters }) => counters).toSorted()).toEqual([...read].toSorted());
  });

  test.each(COUNTERS)('names every alert on $counters.0, and where the server counts', (row) => {
    const reading = ALERTS.filter((alert) => {
      const families = familiesOf(alert);
      return row.counters.some((counter) => families.has(counter));
    });
    expect(row.alerts.toSorted()).toEqual([...new Set(reading)].toSorted());
    expect(row.serverFile).toMatch(/^[\w/]+\.go, \w+$/);
    expect(row.counts.length).toBeGreaterThan(10);
  });
});

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { ALERT_NAMES } from '../../src/alerts/alerts.ts';
import { BOARDS } from '../dashboards/panels.ts';
import { nameOf, readRules } from '../rules/rule-set.ts';

const FOLDER = path.join(import.meta.dirname, '..', '..', 'docs', 'runbooks');
const PAGES = readdirSync(FOLDER).filter((name) => name !== 'README.md');
const RULES = readRules().flatMap(({ rules }) => rules);
/** The waiting time that some pages begin with. */
const WAIT = /^## Meaning\n\nFor (\S+) (minute|hour|day)s?\b/m;
const WORDS: Readonly<Record<string, number>> = { a: 1, an: 1, two: 2 };
const SECONDS: Readonly<Record<string, number>> = {
  m: 60,
  minute: 60,
  h: 3600,
  hour: 3600,
  day: 86_400,
};
const STOPS_A_NODE = /\bdrain\b|\brestart (?:it|the node)\b|\bstop the (?:node|process)\b/i;
const COMMAND = /`crdb-exporter (?!rules\b)[a-z]/;

function read(page: string): string {
  return readFileSync(path.join(FOLDER, page), 'utf8');
}

function mitigationOf(page: string): string {
  return /^## Mitigation\n(.*?)^## /ms.exec(read(page))?.[1] ?? '';
}

/** Titles of the panels and rows of each dashboard; `Load` stands for `Load and hot ranges`. */
const PANELS = new Map(
  BOARDS.map(({ title = '', panels = [] }) => {
    const titles = panels.flatMap((panel) =>
      'panels' in panel ? [panel.title, ...panel.panels.map((one) => one.title)] : [panel.title],
    );
    const name = title.replace('CockroachDB / ', '').replace(' and hot ranges', '');
    return [name, new Set(titles.map((one = '') => one.replace('$', '')))];
  }),
);
const DASHBOARD = new RegExp(String.raw`(${[...PANELS.keys()].join('|')}) dashboard\b`);

/** `Nodes dashboard: **CPU**, **Used**. …`: each dashboard with the text up to the next one. */
function mentions(page: string): readonly { readonly board: string; readonly text: string }[] {
  return read(page)
    .split('\n')
    .flatMap((line) => {
      const parts = line.split(DASHBOARD);
      return parts.flatMap((board, index) =>
        index % 2 === 1 ? [{ board, text: parts[index + 1] ?? '' }] : [],
      );
    });
}

describe('a runbook', () => {
  test.each(PAGES)('names panels, in bold, that its dashboards have: %s', (page) => {
    const problems = mentions(page).flatMap(({ board, text }) => {
      const bold = Array.from(text.matchAll(/\*\*(.+?)\*\*/g), ([, name = '']) => name);
      const unknown = bold.filter((name) => PANELS.get(board)?.has(name) !== true);
      const isList = /^[:,]/.test(text) && bold.length === 0;
      return [
        ...unknown.map((name) => `${board}: ${name}`),
        ...(isList ? [`${board}${text}`] : []),
      ];
    });
    expect(problems).toEqual([]);
  });

  test.each(PAGES.filter((page) => COMMAND.test(read(page))))(
    'with a command says where to run it: %s',
    (page) => expect(read(page)).toContain('](../run-commands.md)'),
  );

  test.each(PAGES.filter((page) => WAIT.test(read(page))))(
    'that begins with a waiting time has that of its alert: %s',
    (page) => {
      const [, count = '', unit = ''] = WAIT.exec(read(page)) ?? [];
      const own = RULES.filter((rule) => nameOf(rule) === page.replace('.md', ''));
      const waits = own.map((rule) => {
        const [, number, letter = ''] = /^(\d+)([mh])$/.exec(rule.for ?? '0m') ?? [];
        return Number(number) * (SECONDS[letter] ?? Number.NaN);
      });
      expect(waits).toContain((WORDS[count] ?? Number(count)) * (SECONDS[unit] ?? Number.NaN));
    },
  );

  test.each(['CrdbRangesLost.md', 'CrdbRangesUnavailable.md'])(
    'on lost data says when to call support: %s',
    (page) => expect(read(page)).toMatch(/^Call Cockroach Labs' support /m),
  );

  test.each(PAGES.filter((page) => STOPS_A_NODE.test(mitigationOf(page))))(
    'that drains, stops or restarts a node first says how to see whether it may stop: %s',
    (page) => {
      const [before = ''] = mitigationOf(page).split(STOPS_A_NODE);
      expect(before).toContain('`crdb-exporter nodes --safe-to-stop`');
    },
  );

  test('warns of the restart of one node, which can be too many, not only of all', () => {
    expect(PAGES.filter((page) => /restart (?:all|several) nodes/i.test(read(page)))).toEqual([]);
  });

  test('on a full disk drains the node before it stops', () => {
    expect(read('CrdbStoreDiskLow.md')).toMatch(
      /--safe-to-stop.*cockroach node drain.*stop the process/,
    );
  });
});

test('a text of an alert that drains, stops or restarts a node says how to see whether it may stop', () => {
  const texts = RULES.map(({ annotations }) => annotations?.['description'] ?? '');
  const stopping = texts.filter((text) => STOPS_A_NODE.test(text));
  expect(stopping).not.toEqual([]);
  expect(stopping.filter((text) => !text.includes('nodes --safe-to-stop'))).toEqual([]);
});

test('the index lists every alert once', () => {
  const listed = Array.from(
    read('README.md').matchAll(/^- \[(Crdb\w+)\]\(\1\.md\)/gm),
    ([, alert = '']) => alert,
  );
  expect(listed.toSorted()).toEqual(ALERT_NAMES.toSorted());
});

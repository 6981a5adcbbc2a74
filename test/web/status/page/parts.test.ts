import { expect, test } from 'vitest';
import type { Finding } from '../../../../src/findings/status.ts';
import type { Html } from '../../../../src/web/status/page/html.ts';
import {
  hotRanges,
  loadedTables,
  problemRanges,
} from '../../../../src/web/status/page/range-panels.ts';
import { RANGES } from '../results.ts';

const NOW = '2026-03-01T12:00:00.000Z';
const NOW_MS = Date.parse(NOW);

/** The text of some markup, without its tags. */
function textOf({ text }: Html): string {
  return text
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

/** The matches of the group of an expression. */
function all({ text }: Html, expression: RegExp): readonly string[] {
  return Array.from(text.matchAll(expression), ([, found = '']) => found);
}

const PLACE = { nodeId: 1, storeId: 2, table: '', index: '' };

function findingOf(key: string, level: Finding['level']): Finding {
  return { key, about: 'ranges', alert: undefined, level, text: '', next: '', since: NOW };
}

test('the worst problem ranges come first, and the oldest of them', () => {
  const findings = [
    findingOf('ranges unavailable', 'critical'),
    findingOf('ranges overreplicated', 'info'),
  ];
  const names = [
    'overreplicated',
    'underreplicated',
    'unavailable',
    'underreplicated',
    'unavailable',
  ];
  const oldest = names.map((problem, at) => ({ ...PLACE, problem, rangeId: at, firstSeenAt: NOW }));
  const problems = { overreplicated: 1, underreplicated: 2_000, unavailable: 2 };
  const drawn = problemRanges({ ...RANGES, problems, oldest }, findings, NOW_MS, { flag: '' });
  expect(all(drawn, /<th scope="row"[^>]*>(r\d)</g)).toEqual(['r2', 'r4', 'r1', 'r3', 'r0']);
  expect(all(drawn, /<li class="(\w+)">/g)).toEqual(['info', 'warning', 'critical']);
  expect(textOf(drawn)).toMatch(/^1 overreplicated 2,000 underreplicated 2 unavailable /);
});

/** The widths of the bars of ranges with so many queries. */
function widthsOf(...rates: readonly number[]): readonly string[] {
  const hottest = rates.map((queriesPerSecond, at) => ({
    ...PLACE,
    rangeId: at,
    queriesPerSecond,
    writesPerSecond: 0,
    cpuSecondsPerSecond: undefined,
  }));
  return all(hotRanges({ ...RANGES, hottest }, { flag: '' }), /<rect width="(\d+)"/g);
}

test('no problem is only known of the ranges that were read', () => {
  const nodes = { scanned: 2, failed: 1, skipped: 1 };
  expect(textOf(problemRanges({ ...RANGES, nodes }, [], NOW_MS, { flag: '' }))).toBe(
    'No range that was read has a problem. Read from 2 of 4 nodes; 1 down and not queried.',
  );
});

test('tables without a quorum are named with the number of their ranges', () => {
  const withoutQuorum = {
    tables: [
      { id: '104', name: 'movr.public.users', ranges: 3 },
      { id: '105', name: undefined, ranges: 1 },
    ],
    otherRanges: 1,
  };
  const damaged = { ...RANGES, problems: { unavailable: 5 }, withoutQuorum };
  const text = 'movr.public.users (3 ranges), table 105 (1 range) and 1 range outside';
  const shown = problemRanges(damaged, [], NOW_MS, { flag: '' });
  expect(textOf(shown)).toContain(`Tables without quorum: ${text} of known tables.`);
  const nodes = { scanned: 2, failed: 1, skipped: 0 };
  const partly = problemRanges({ ...damaged, nodes }, [], NOW_MS, { flag: '' });
  expect(textOf(partly)).toContain(`Tables without quorum, at least: ${text}`);
});

const columnsWith = (sizeBytes?: number, cpuSecondsPerSecond?: number) => {
  const one = { id: '1', name: 'a', ranges: 1, queriesPerSecond: 1, writesPerSecond: 1 };
  const tables = [
    { ...one, sizeBytes: undefined, cpuSecondsPerSecond: undefined },
    { ...one, sizeBytes, cpuSecondsPerSecond },
  ];
  return all(loadedTables({ ...RANGES, tables }), /<th scope="col"[^>]*>([^<]*)/g).slice(3);
};

test('the sizes and the CPU of tables are columns where one of them is known', () => {
  expect(columnsWith()).toEqual(['Ranges']);
  expect(columnsWith(0)).toEqual(['Ranges', 'Size']);
  expect(columnsWith(undefined, 0)).toEqual(['CPU', 'Ranges']);
});

test('the bars of the hottest ranges are shares of the hottest, or of one query per second', () => {
  expect(widthsOf(10, 40)).toEqual(['25', '100']);
  expect(widthsOf(0.5)).toEqual(['50']);
});

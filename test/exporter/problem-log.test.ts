import { expect, test } from 'vitest';
import { ProblemLog } from '../../src/exporter/problem-log.ts';
import { createLog } from '../../src/log.ts';

const SINCE = '2026-03-01T12:00:00.000Z';
const LATE = {
  key: 'late',
  message: 'no answer',
  remedy: 'wait',
  reason: 'timeout',
  api: 'cluster',
  affects: ['nodes'],
} as const;
const URL_FAILS = { key: 'URL a', message: 'one URL fails', remedy: 'start it', affects: [] };

/** A log with a clock, and what it has logged since the last look. */
function prepare() {
  const lines: string[] = [];
  const destination = { write: (line: string) => lines.push(line) };
  const log = createLog({ level: 'debug', format: 'json', destination });
  const clock = { nowMs: 0 };
  const times = {
    wallMs: () => Date.parse(SINCE) + clock.nowMs,
    monotonicMs: () => clock.nowMs,
  };
  return {
    clock,
    log: new ProblemLog(log, times),
    after: (previous: ProblemLog) => new ProblemLog(log, times, previous),
    logged: () =>
      lines.splice(0).map((line) => {
        const { time, ...rest } = JSON.parse(line);
        expect(time).toBeTypeOf('string');
        return rest;
      }),
  };
}

test('a problem is logged once, again after ten minutes, and when it is over', () => {
  const { clock, log, logged } = prepare();
  log.update([LATE], 'nodes');
  const cause = { reason: 'timeout', hint: 'wait', msg: 'no answer' };
  expect(logged()).toEqual([{ level: 'warn', collector: 'nodes', ...cause }]);
  clock.nowMs = 599_999;
  const both = { ...LATE, affects: ['nodes', 'ranges'] };
  log.update([both], 'ranges');
  log.update([both], 'users');
  expect(logged()).toEqual([]);
  clock.nowMs = 600_000;
  log.update([both], 'nodes');
  const fields = { affects: 'nodes, ranges', reason: 'timeout', since: SINCE, polls: 3 };
  const reminder = { ...fields, hint: 'wait', msg: 'still failing: no answer' };
  expect(logged()).toEqual([{ level: 'warn', ...reminder }]);
  clock.nowMs = 1_200_000;
  log.update([{ ...LATE, affects: ['ranges'] }], 'nodes');
  expect(logged()).toMatchObject([{ affects: 'ranges', polls: 3 }]);
  log.update([], 'ranges');
  const over = { affects: 'nodes, ranges', reason: 'timeout' };
  const text = 'recovered after 20 min: no answer';
  expect(logged()).toEqual([{ level: 'info', ...over, msg: text }]);
});

test('the problems of a cluster go on after a reload', () => {
  const { clock, log, logged, after } = prepare();
  log.update([LATE], 'nodes');
  expect(logged()).toHaveLength(1);
  clock.nowMs = 60_000;
  const next = after(log);
  expect(next.problems).toEqual([{ ...LATE, sinceMs: Date.parse(SINCE) }]);
  next.update([LATE], 'nodes');
  expect(logged()).toEqual([]);
  next.update([], 'nodes');
  expect(logged()).toMatchObject([{ msg: 'recovered after 1 min: no answer' }]);
});

test('a collector that fails of another cause has not recovered', () => {
  const { log, logged } = prepare();
  log.update([LATE], 'nodes');
  log.update([{ ...LATE, key: 'refused', reason: 'network' }], 'nodes');
  expect(logged().map(({ level, reason }) => [level, reason])).toEqual([
    ['warn', 'timeout'],
    ['warn', 'network'],
  ]);
});

test('what fails no poll names no collector, for as long as it lasts', () => {
  const { clock, log, logged } = prepare();
  clock.nowMs = 1_000;
  for (const name of ['nodes', 'ranges']) log.update([URL_FAILS], name);
  expect(logged()).toEqual([{ level: 'warn', hint: 'start it', msg: 'one URL fails' }]);
  expect(log.problems).toEqual([{ ...URL_FAILS, sinceMs: Date.parse(SINCE) + 1_000 }]);
  clock.nowMs += 600_000;
  log.update([URL_FAILS], 'nodes');
  expect(logged()).toMatchObject([{ msg: 'still: one URL fails' }]);
  log.update([], 'nodes');
  expect(logged()).toEqual([{ level: 'info', msg: 'recovered after 10 min: one URL fails' }]);
  expect(log.problems).toEqual([]);
});

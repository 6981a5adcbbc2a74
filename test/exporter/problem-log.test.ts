import { expect, test } from 'vitest';
import { ProblemLog } from '../../src/exporter/problem-log.ts';
import { createLog } from '../../src/log.ts';

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
  const wallMs = (): number => clock.nowMs;
  return {
    clock,
    log: new ProblemLog(log, wallMs),
    after: (previous: ProblemLog) => new ProblemLog(log, wallMs, previous.problems),
    logged: () =>
      lines.splice(0).map((line) => {
        const { time, ...rest } = JSON.parse(line);
        expect(time).toBeTypeOf('string');
        return rest;
      }),
  };
}

test('a problem is logged once and when it is over, also across a reload', () => {
  const { clock, log, logged, after } = prepare();
  clock.nowMs = 1_000;
  log.update([LATE]);
  const cause = { reason: 'timeout', hint: 'wait', msg: 'no answer' };
  expect(logged()).toEqual([{ level: 'warn', collector: 'nodes', ...cause }]);
  const both = { ...LATE, affects: ['nodes', 'ranges'] };
  log.update([both]);
  const next = after(log);
  next.update([both]);
  expect(logged()).toEqual([]);
  expect(next.problems).toEqual([{ ...both, sinceMs: 1_000 }]);
  clock.nowMs = 1_201_000;
  next.update([]);
  const over = { affects: 'nodes, ranges', reason: 'timeout' };
  expect(logged()).toEqual([{ level: 'info', ...over, msg: 'recovered after 20 min: no answer' }]);
  expect(next.problems).toEqual([]);
});

test('a collector that fails of another cause has not recovered', () => {
  const { log, logged } = prepare();
  log.update([LATE]);
  log.update([{ ...LATE, key: 'refused', reason: 'network' }]);
  expect(logged().map(({ level, reason }) => [level, reason])).toEqual([
    ['warn', 'timeout'],
    ['warn', 'network'],
  ]);
});

test('what fails no poll names no collector', () => {
  const { clock, log, logged } = prepare();
  for (let poll = 0; poll < 2; poll++) log.update([URL_FAILS]);
  expect(logged()).toEqual([{ level: 'warn', hint: 'start it', msg: 'one URL fails' }]);
  clock.nowMs += 600_000;
  log.update([]);
  expect(logged()).toEqual([{ level: 'info', msg: 'recovered after 10 min: one URL fails' }]);
});

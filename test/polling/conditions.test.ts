import { expect, test } from 'vitest';
import { cloud } from '../../src/collectors/cloud.ts';
import { createLog } from '../../src/log.ts';
import { Conditions } from '../../src/polling/conditions.ts';
import { orders } from '../support/collectors.ts';

const SINCE = '2026-03-01T12:00:00.000Z';
type State = Parameters<Conditions['pollEnded']>[1];
const OK: State = 'ok';
const FAILED: State = 'failing';
const NEW: State = 'waiting';
const TIMEOUT = { reason: 'timeout', message: 'no answer after 3 s', remedy: 'wait' } as const;
const BROKEN = { reason: 'breaker_open', message: 'poll skipped' } as const;

/** Conditions with a clock, and what they have logged since the last look. */
function prepare() {
  const lines: string[] = [];
  const destination = { write: (line: string) => lines.push(line) };
  const log = createLog({ level: 'debug', format: 'json', destination });
  const clock = { nowMs: 0 };
  const conditions = new Conditions(log, {
    wallMs: () => Date.parse(SINCE) + clock.nowMs,
    monotonicMs: () => clock.nowMs,
  });
  return {
    clock,
    conditions,
    /** Each poll of an own collector fails of this. */
    fail: (name: string, error: Parameters<Conditions['pollEnded']>[2], before: State = FAILED) =>
      conditions.pollEnded({ ...orders, name }, before, error),
    succeed: (name: string, before: State) =>
      conditions.pollEnded({ ...orders, name }, before, undefined),
    logged: () =>
      lines.splice(0).map((line) => {
        const { time, ...rest } = JSON.parse(line);
        expect(time).toBeTypeOf('string');
        return rest;
      }),
  };
}

test('a cause is logged once, again after ten minutes, and when the last collector has recovered', () => {
  const { clock, fail, succeed, logged } = prepare();
  fail('nodes', TIMEOUT, NEW);
  const first = { collector: 'nodes', reason: 'timeout', hint: 'wait', msg: TIMEOUT.message };
  expect(logged()).toEqual([{ level: 'warn', ...first }]);
  clock.nowMs = 599_999;
  // The numbers of a message are no other cause, and the remedy counts more than the message.
  fail('ranges', { ...TIMEOUT, message: 'no answer after 4 s' });
  const again = { reason: 'timeout', hint: 'wait', msg: 'no answer after 4 s' };
  expect(logged()).toEqual([{ level: 'debug', ...again }]);
  clock.nowMs = 600_000;
  fail('nodes', TIMEOUT);
  const fields = { affects: 'nodes, ranges', reason: 'timeout', since: SINCE, polls: 3 };
  const reminder = { ...fields, hint: 'wait', msg: 'still failing: no answer after 3 s' };
  expect(logged()).toEqual([{ level: 'warn', ...reminder }]);
  clock.nowMs += 599_999;
  fail('nodes', TIMEOUT);
  expect(logged()).toMatchObject([{ level: 'debug' }]);
  succeed('nodes', FAILED);
  expect(logged()).toEqual([]);
  clock.nowMs = 1_200_000;
  fail('ranges', TIMEOUT);
  expect(logged()).toMatchObject([{ affects: 'ranges', polls: 5 }]);
  succeed('ranges', FAILED);
  const over = { affects: 'nodes, ranges', reason: 'timeout' };
  const text = 'recovered after 20 min: no answer after 3 s';
  expect(logged()).toEqual([{ level: 'info', ...over, msg: text }]);
});

test('another cause takes the place of the first, which did not recover', () => {
  const { fail, succeed, logged } = prepare();
  fail('nodes', TIMEOUT);
  fail('nodes', { ...TIMEOUT, reason: 'network' });
  fail('ranges', { ...TIMEOUT, remedy: undefined, message: 'no answer after 5 s' });
  fail('ranges', { ...TIMEOUT, remedy: undefined, message: 'no answer after 60 s' });
  expect(logged().map(({ level, reason, hint }) => [level, reason, hint])).toEqual([
    ['warn', 'timeout', 'wait'],
    ['warn', 'network', 'wait'],
    ['warn', 'timeout', undefined],
    ['debug', 'timeout', undefined],
  ]);
  succeed('nodes', FAILED);
  expect(logged()).toMatchObject([{ level: 'info', reason: 'network', affects: 'nodes' }]);
});

test('what follows from a cause is logged with the last one, and on its own only without one', () => {
  const { clock, conditions, fail, logged } = prepare();
  fail('tables', TIMEOUT);
  fail('nodes', { reason: 'auth', message: 'rejected' });
  conditions.pollEnded(cloud, FAILED, { reason: 'other', message: 'strange' });
  fail('ranges', BROKEN);
  expect(logged().map(({ level, msg }) => [level, msg])).toEqual([
    ['warn', 'no answer after 3 s'],
    ['warn', 'rejected'],
    ['warn', 'strange'],
    ['debug', 'poll skipped'],
  ]);
  // It stays with the cause that it had.
  fail('tables', { reason: 'tls', message: 'expired' });
  fail('ranges', BROKEN);
  clock.nowMs = 600_000;
  logged();
  fail('ranges', BROKEN);
  expect(logged()).toMatchObject([
    { msg: 'still failing: rejected; poll skipped', affects: 'nodes, ranges', reason: 'auth' },
  ]);
  const alone = prepare();
  alone.fail('ranges', BROKEN);
  alone.fail('nodes', BROKEN);
  expect(alone.logged()).toMatchObject([
    { level: 'warn', collector: 'ranges', reason: 'breaker_open', msg: 'poll skipped' },
    { level: 'debug', msg: 'poll skipped' },
  ]);
});

test('a success is logged where the poll before did not succeed and no condition says more', () => {
  const { fail, succeed, logged } = prepare();
  succeed('nodes', NEW);
  succeed('nodes', FAILED);
  succeed('nodes', OK);
  expect(logged()).toEqual([
    { level: 'info', collector: 'nodes', msg: 'collector succeeded' },
    { level: 'info', collector: 'nodes', msg: 'collector recovered' },
  ]);
  fail('nodes', TIMEOUT, OK);
  succeed('nodes', FAILED);
  expect(logged().map(({ msg }) => msg)).toEqual([
    'no answer after 3 s',
    'recovered after 0 s: no answer after 3 s',
  ]);
});

test('what fails no poll is a warning, which names no collector, for as long as it lasts', () => {
  const { clock, conditions, fail, logged } = prepare();
  clock.nowMs = 1_000;
  fail('nodes', TIMEOUT);
  const condition = { key: 'URL a', message: 'one URL fails', remedy: 'start it' };
  expect(conditions.update('a', condition)).toBe(false);
  expect(conditions.update('a', condition)).toBe(true);
  const line = { level: 'warn', hint: 'start it', msg: 'one URL fails' };
  expect(logged().slice(1)).toEqual([line, { ...line, level: 'debug' }]);
  expect(conditions.warnings).toMatchObject([{ ...condition, sinceMs: Date.parse(SINCE) + 1_000 }]);
  expect(conditions.warnings).toHaveLength(1);
  expect(conditions.update('a', undefined)).toBe(true);
  expect(conditions.update('a', undefined)).toBe(false);
  expect(conditions.warnings).toEqual([]);
});

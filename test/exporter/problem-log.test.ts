import { expect, test } from 'vitest';
import { createLog } from '../../src/base/log.ts';
import { RequestError } from '../../src/cockroach/http/errors.ts';
import type { WatchProblem } from '../../src/exporter/observation.ts';
import { logChanges } from '../../src/exporter/problem-log.ts';

const URL_FAILS: WatchProblem = {
  key: 'URL a',
  about: 'exporter',
  level: 'warning',
  text: 'One URL fails.',
  next: 'Start it.',
  since: '2026-03-01T12:00:00.000Z',
  affects: ['nodes', 'ranges'],
};
const LATE: WatchProblem = {
  ...URL_FAILS,
  key: 'late',
  text: 'No answer.',
  next: '',
  affects: ['nodes'],
  cause: { error: new RequestError('timeout', 'no answer') },
};
/** As a problem of the cluster, which is not logged. */
const DEAD: WatchProblem = { ...URL_FAILS, key: 'nodes dead', affects: undefined };

/** What is logged when the problems before become those after, 20 minutes after their start. */
function logged(before: readonly WatchProblem[], after: readonly WatchProblem[]) {
  const lines: string[] = [];
  const destination = { write: (line: string) => lines.push(line) };
  const log = createLog({ level: 'debug', format: 'json', destination });
  logChanges(log, before, after, Date.parse(URL_FAILS.since) + 20 * 60_000);
  return lines.map((line) => {
    const { time, ...rest } = JSON.parse(line);
    expect(time).toBeTypeOf('string');
    return rest;
  });
}

test('a problem of watching a cluster is logged once and when it is over', () => {
  expect(logged([], [LATE, URL_FAILS, DEAD])).toEqual([
    { level: 'warn', collector: 'nodes', reason: 'timeout', msg: 'No answer.' },
    { level: 'warn', hint: 'Start it.', msg: 'One URL fails.' },
  ]);
  const both = { ...LATE, affects: ['nodes', 'ranges'] };
  expect(logged([LATE, URL_FAILS], [both, URL_FAILS])).toEqual([]);
  expect(logged([both, URL_FAILS, DEAD], [])).toEqual([
    {
      level: 'info',
      affects: 'nodes, ranges',
      reason: 'timeout',
      msg: 'recovered after 20 min: No answer.',
    },
    { level: 'info', affects: 'nodes, ranges', msg: 'recovered after 20 min: One URL fails.' },
  ]);
});

test('what one collector had is logged again when its API is down, and not once more', () => {
  const down: WatchProblem = { ...LATE, text: 'The API fails.', downApi: 'cluster' };
  expect(logged([LATE], [down])).toMatchObject([{ level: 'warn', msg: 'The API fails.' }]);
  expect(logged([down], [down])).toEqual([]);
  expect(logged([down], [LATE])).toEqual([]);
});

test('a collector that fails of another cause has not recovered', () => {
  const refused = { ...LATE, key: 'refused' };
  expect(logged([LATE], [refused]).map(({ level }) => level)).toEqual(['warn']);
});

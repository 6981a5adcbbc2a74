import { expect, test } from 'vitest';
import { DEFAULT_FINDING_SETTINGS } from '../../../src/config/alert-settings.ts';
import { History } from '../../../src/web/status/history.ts';
import { createRenderCache, readVersion } from '../../../src/web/status/status.ts';
import { preparePoller } from '../../polling/prepare-poller.ts';
import { polledCluster } from './results.ts';

/** A source with one cluster, whose clock and clusters the test changes. */
function prepare() {
  const bench = preparePoller(() => undefined);
  const config = {};
  const state = {
    nowMs: 1_000,
    clusters: [polledCluster({ pollers: [bench.poller], isUp: true })],
  };
  const source = {
    version: '1.2.3',
    describedConfig: () => config,
    problems: () => [],
    clusters: () => state.clusters,
    findingSettings: () => DEFAULT_FINDING_SETTINGS,
    history: new History(() => DEFAULT_FINDING_SETTINGS),
    startedMs: 0,
    wallMs: () => state.nowMs,
  };
  const cache = createRenderCache<number>(source);
  let renders = 0;
  /** How many times this rendered. */
  const render = (key: string): number => {
    const before = renders;
    cache(key, () => (renders += 1));
    return renders - before;
  };
  return { bench, state, source, render };
}

test('twenty answers are kept, and all are dropped for another one', () => {
  const { render } = prepare();
  const keys = Array.from({ length: 20 }, (_, at) => String(at));
  expect(keys.map(render)).toEqual(keys.map(() => 1));
  expect(keys.map(render)).toEqual(keys.map(() => 0));
  expect(render('20')).toBe(1);
  expect([render('20'), render('1')]).toEqual([0, 1]);
});

test('an answer is kept for a second, and while no poll ends and the clusters stay the same', async () => {
  const { bench, state, render } = prepare();
  expect(render('a')).toBe(1);
  state.nowMs = 1_999;
  expect(render('a')).toBe(0);
  state.nowMs = 2_000;
  expect([render('a'), render('a')]).toEqual([1, 0]);
  await bench.poll();
  expect([render('a'), render('a')]).toEqual([1, 0]);
  const { pollers } = polledCluster({ pollers: [bench.poller], isUp: true });
  state.clusters = [polledCluster({ pollers, isUp: true })];
  expect([render('a'), render('a')]).toEqual([1, 0]);
  state.clusters = [...state.clusters, ...state.clusters];
  expect([render('a'), render('a')]).toEqual([1, 0]);
});

test('the version of the state changes when a poll begins or ends, and when data expires', async () => {
  const { bench, source } = prepare();
  const versions = [readVersion(source)];
  const polling = bench.poll();
  versions.push(readVersion(source));
  await polling;
  versions.push(readVersion(source));
  bench.clock.nowMs += 3_600_000;
  versions.push(readVersion(source));
  bench.http.blocked = 1;
  await bench.poll();
  versions.push(readVersion(source));
  expect(new Set(versions).size).toBe(versions.length);
  expect(readVersion(source)).toBe(versions.at(-1));
});

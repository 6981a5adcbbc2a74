import { expect, test } from 'vitest';
import { DEFAULT_FINDING_SETTINGS } from '../../../src/config/alert-settings.ts';
import { SampleSet } from '../../../src/metrics/sample-set.ts';
import type { ClusterSource } from '../../../src/web/status/cluster.ts';
import { History } from '../../../src/web/status/status.ts';
import { readStatus } from '../../../src/web/status/status.ts';

function sourceOf(name: string, result: ClusterSource['result']): ClusterSource {
  return {
    name,
    isPolled: true,
    config: { console_url: undefined },
    pollers: [],
    watchProblems: [],
    result,
    lastResult: () => undefined,
    isUp: () => true,
    families: () => [],
    metrics: () => new SampleSet({}),
    pollNow: () => Promise.resolve(),
  };
}

test('a cluster whose results cannot be read is unknown, and others are shown', () => {
  const odd = sourceOf('odd', () => {
    throw new RangeError('Invalid time value');
  });
  const { clusters } = readStatus({
    version: '1.0.0',
    clusters: () => [odd, sourceOf('good', () => undefined)],
    findingSettings: () => DEFAULT_FINDING_SETTINGS,
    history: new History(() => DEFAULT_FINDING_SETTINGS),
    describedConfig: () => ({}),
    problems: () => [],
    startedMs: 0,
    wallMs: () => 1_000,
  });
  expect(clusters.map(({ name, state }) => [name, state])).toEqual([
    ['odd', 'unknown'],
    ['good', 'unknown'],
  ]);
  expect(clusters.map(({ findings }) => findings.map(({ level, text }) => [level, text]))).toEqual([
    [['warning', 'The results of this cluster cannot be shown: Invalid time value.']],
    [],
  ]);
});

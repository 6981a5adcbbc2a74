import { describe, expect, it } from 'vitest';
import {
  baseName,
  counter,
  gauge,
  gaugeHistogram,
  histogram,
  untyped,
} from '../../src/metrics/family.ts';

const HELP = 'A family of the test.';

describe('a family', () => {
  it('is frozen and merges by "last" unless it says otherwise', () => {
    const family = gauge({ name: 'crdb_test', help: HELP, labels: ['node_id'] });
    expect(family).toEqual({
      name: 'crdb_test',
      type: 'gauge',
      help: HELP,
      labels: ['node_id'],
      merge: 'last',
      unit: 'count',
      importance: 'node',
      openMetricsUnit: undefined,
      field: undefined,
      request: undefined,
      notes: '',
      list: undefined,
    });
    expect(Object.isFrozen(family) && Object.isFrozen(family.labels)).toBe(true);
  });

  it('is what it says', () => {
    const definition = {
      name: 'crdb_x_seconds',
      help: HELP,
      labels: ['a', 'b'],
      merge: 'max',
      unit: 'ratio',
      field: 'x',
      request: 'GET /x/',
      notes: 'Odd.',
      importance: 'chosen',
      list: { name: 'x', entry: ['a'], per: 'b' },
    } as const;
    const family = gauge(definition);
    expect(family).toEqual({ ...definition, type: 'gauge', openMetricsUnit: 'seconds' });
  });

  it.each([
    ['crdb_wait_seconds', 'seconds', 'seconds'],
    ['crdb_start_timestamp_seconds', 'seconds', 'Unix time in seconds'],
    ['crdb_size_bytes', 'bytes', 'bytes'],
    ['crdb_cpu_ratio', 'ratio', 'count'],
    ['crdb_build_info', undefined, 'always 1'],
    ['crdb_writes_per_second', undefined, 'count'],
    ['crdb_bytes_read', undefined, 'count'],
    ['crdb_info_seen', undefined, 'count'],
  ] as const)('takes the unit of %s from its name: %s, %s', (name, openMetricsUnit, unit) => {
    expect(gauge({ name, help: HELP })).toMatchObject({ labels: [], openMetricsUnit, unit });
    const total = counter({ name: `${name}_total`, help: HELP });
    expect(total).toMatchObject({ openMetricsUnit, unit });
    expect([baseName(gauge({ name, help: HELP })), baseName(total)]).toEqual([name, name]);
  });

  it.each([
    [[], 'cluster'],
    [['status', 'shard'], 'cluster'],
    [['node_id', 'status'], 'node'],
    [['node_id', 'store_id', 'shard'], 'store'],
    [['store_id', 'kind'], 'store_and_kind'],
  ] as const)('with the labels %j is about: %s', (labels, importance) => {
    expect(gauge({ name: 'crdb_x', help: HELP, labels }).importance).toBe(importance);
  });

  it.each([
    'crdb_x_total',
    'crdb_x_count',
    'crdb_x_sum',
    'crdb_x_bucket',
    'crdbX',
    'crdb__x',
    '1x',
    '',
  ])('must not be a gauge called %j', (name) => {
    expect(() => gauge({ name, help: HELP, labels: [] })).toThrow(
      `family ${JSON.stringify(name)}:`,
    );
  });

  it('must end in _total when it is a counter', () => {
    expect(() => counter({ name: 'crdb_x', help: HELP, labels: [] })).toThrow('_total');
  });

  it('must end in _bucket when it is a gauge histogram, which alone may have the label le', () => {
    expect(() => gaugeHistogram({ name: 'crdb_x', help: HELP, labels: [] })).toThrow('_bucket');
    const name = 'crdb_x_seconds_bucket';
    expect(gaugeHistogram({ name, help: HELP, labels: ['le'] }).openMetricsUnit).toBe('seconds');
  });

  it.each(['crdb_cluster', 'le', 'quantile', 'instance', '__name', 'nodeId'])(
    'must not have the label %s',
    (label) => {
      expect(() => untyped({ name: 'crdb_x', help: HELP, labels: [label] })).toThrow(label);
    },
  );

  it('must have a help text and no label twice', () => {
    expect(() => gauge({ name: 'crdb_x', help: ' ', labels: [] })).toThrow('help');
    expect(() => gauge({ name: 'crdb_x', help: HELP, labels: ['a', 'a'] })).toThrow('twice');
  });

  it('must not have integers as bounds, which the two formats print differently', () => {
    const definition = { name: 'crdb_x_seconds', help: HELP, labels: [] };
    expect(() => histogram({ ...definition, buckets: [0.5, 1] })).toThrow('bound 1');
    expect(histogram({ ...definition, buckets: [0.5, 1.5] }).buckets).toEqual([0.5, 1.5]);
  });
});

import { describe, expect, it } from 'vitest';
import { COLLECTORS } from '../../src/collectors/all-collectors.ts';
import { EXPORTER_FAMILIES } from '../../src/exporter/measure-cluster.ts';
import { baseName, counter, type Family, gauge, histogram } from '../../src/metrics/family.ts';

const HELP = 'A family of the test.';

const FAMILIES: readonly Family[] = [
  ...COLLECTORS.flatMap(({ families }) => families),
  ...EXPORTER_FAMILIES,
];

describe('a family', () => {
  it('merges by "last" unless it says otherwise', () => {
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
  });

  it('is what it says', () => {
    const definition = {
      name: 'crdb_x_seconds',
      help: HELP,
      labels: ['a', 'b'],
      merge: 'sum',
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
    ['crdb_writes_per_second', undefined, 'per second'],
    ['crdb_read_bytes_per_second', undefined, 'bytes per second'],
    ['crdb_bytes_read', undefined, 'count'],
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

  it('with bounds keeps them', () => {
    const definition = { name: 'crdb_x_seconds', help: HELP, labels: [] };
    expect(histogram({ ...definition, buckets: [0.5, 1.5] }).buckets).toEqual([0.5, 1.5]);
  });
});

describe('every family of the exporter', () => {
  it.each(FAMILIES.map((family) => ({ ...family, base: baseName(family) })))(
    '$name has a name, a help text and labels as the formats require them',
    ({ name, base, type, help, labels }) => {
      expect(name).toMatch(/^crdb(_[a-z][a-z0-9]*)+$/);
      expect(base).not.toMatch(/_(total|count|sum|bucket|created)$/);
      expect(base !== name).toBe(type === 'counter' || type === 'gaugehistogram');
      expect(help.trim()).not.toBe('');
      expect(new Set(labels).size).toBe(labels.length);
      const reserved = ['quantile', 'instance', 'crdb_cluster'];
      if (type !== 'gaugehistogram') reserved.push('le');
      expect(reserved.filter((label) => labels.includes(label))).toEqual([]);
      expect(labels.filter((label) => !/^[a-z]+(_[a-z]+)*$/.test(label))).toEqual([]);
    },
  );

  it('has bounds that both formats print alike, if any', () => {
    const bounds = FAMILIES.flatMap((family) => ('buckets' in family ? family.buckets : []));
    expect(bounds).not.toEqual([]);
    expect(bounds).not.toSatisfy((list: readonly number[]) => list.some(Number.isInteger));
  });
});

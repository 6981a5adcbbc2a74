import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Family } from '../../src/metrics/family.ts';
import { gauge } from '../../src/metrics/family.ts';
import { cleanLabelValue, MAX_LABEL_LENGTH } from '../../src/metrics/label-text.ts';
import { SampleSet } from '../../src/metrics/sample-set.ts';
import { renderFamilies } from '../../src/metrics/snapshot.ts';

const HELP = 'A family of the test.';
const PLAIN = gauge({ name: 'crdb_plain', help: HELP, labels: [] });
const BY_APPLICATION = gauge({ name: 'crdb_by_application', help: HELP, labels: ['app', 'user'] });
const STATUS = gauge({ name: 'crdb_status', help: HELP, labels: ['node_id', 'status'] });

function lines(set: SampleSet): readonly string[] {
  return renderFamilies(set).flatMap((one) => one.lines.toString().trimEnd().split('\n'));
}

describe('a set', () => {
  it('puts its constant label first on every sample', () => {
    const set = new SampleSet({ crdb_cluster: 'prod' });
    set.set(PLAIN, {}, 1);
    set.set(BY_APPLICATION, { user: 'bob', app: 'web' }, 2);
    expect(lines(set)).toEqual([
      'crdb_plain{crdb_cluster="prod"} 1',
      'crdb_by_application{crdb_cluster="prod",app="web",user="bob"} 2',
    ]);
    expect(set.series).toBe(2);
  });

  it('writes no braces where there is no label at all', () => {
    const set = new SampleSet({});
    set.set(PLAIN, {}, 0);
    set.info(BY_APPLICATION, { app: 'a', user: '' });
    expect(lines(set)).toEqual(['crdb_plain 0', 'crdb_by_application{app="a",user=""} 1']);
  });

  it('writes nothing for what the server did not say', () => {
    const set = new SampleSet({ crdb_cluster: 'prod' });
    set.set(PLAIN, {}, undefined);
    set.set(PLAIN, {}, Number.NaN);
    expect([...set.families()]).toEqual([]);
    expect(set.series).toBe(0);
  });

  it.each<[Family['merge'], number]>([
    ['sum', 9],
    ['last', 3],
  ])('merges a label set that comes again by "%s" and counts it', (merge, expected) => {
    const family = gauge({ name: 'crdb_merged', help: HELP, labels: ['node_id'], merge });
    const set = new SampleSet({});
    for (const value of [1, 5, 3]) {
      set.set(family, { node_id: '1' }, value);
    }
    expect(lines(set)).toEqual([`crdb_merged{node_id="1"} ${expected}`]);
    expect([...set.duplicates]).toEqual([['crdb_merged', 2]]);
    expect(set.series).toBe(1);
  });

  it('refuses two definitions of one name', () => {
    const other = gauge({ name: 'crdb_plain', help: HELP, labels: ['node_id'] });
    const set = new SampleSet({});
    set.set(PLAIN, {}, 1);
    expect(() => set.set(other, { node_id: '1' }, 1)).toThrow('crdb_plain has two definitions');
  });
});

describe('a state set', () => {
  const known = ['live', 'dead', 'other'];

  it.each([
    ['dead', [0, 1, 0]],
    ['exploded', [0, 0, 1]],
    [undefined, [0, 0, 0]],
  ])('has one series per known state for %s', (current, values) => {
    const set = new SampleSet({});
    set.states(STATUS, { node_id: '7' }, 'status', known, current);
    const [dead, live, other] = [values[1], values[0], values[2]];
    expect(lines(set)).toEqual([
      `crdb_status{node_id="7",status="live"} ${live}`,
      `crdb_status{node_id="7",status="dead"} ${dead}`,
      `crdb_status{node_id="7",status="other"} ${other}`,
    ]);
  });

  it('shows no state where an unknown one has no place', () => {
    const set = new SampleSet({});
    set.states(STATUS, { node_id: '7' }, 'status', ['live'], 'exploded');
    expect(lines(set)).toEqual(['crdb_status{node_id="7",status="live"} 0']);
  });
});

describe('label sets that look alike', () => {
  it('are one series exactly when their cleaned values are equal', () => {
    const value = fc.string({
      unit: fc.constantFrom('a', '"', '\\', ',', '=', '\n', '\u0000', '\uFFFD'),
      maxLength: 4,
    });
    fc.assert(
      fc.property(value, value, value, value, (a, b, c, d) => {
        const set = new SampleSet({});
        set.set(BY_APPLICATION, { app: a, user: b }, 1);
        set.set(BY_APPLICATION, { app: c, user: d }, 1);
        const isSame =
          cleanLabelValue(a) === cleanLabelValue(c) && cleanLabelValue(b) === cleanLabelValue(d);
        expect(set.series).toBe(isSame ? 1 : 2);
      }),
      { numRuns: 2000 },
    );
  });
});

describe('a label value', () => {
  it('has each control character and lone surrogate replaced one for one', () => {
    expect(cleanLabelValue('a\u0000\t\r\n\u007f\u0085\u009fb\ud800c\udc00')).toBe(
      `a${'\uFFFD'.repeat(7)}b\uFFFDc\uFFFD`,
    );
    expect(cleanLabelValue('größe 😀 \u00a0')).toBe('größe 😀 \u00a0');
  });

  it('is cut at 128 code units, but never inside a pair', () => {
    expect(cleanLabelValue('x'.repeat(128))).toBe('x'.repeat(128));
    expect(cleanLabelValue('x'.repeat(129))).toBe('x'.repeat(128));
    expect(cleanLabelValue(`${'x'.repeat(126)}😀y`)).toBe(`${'x'.repeat(126)}😀`);
    expect(cleanLabelValue(`${'x'.repeat(127)}😀y`)).toBe('x'.repeat(127));
  });

  it('is always well-formed, short and free of control characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), fc.nat(300), (text, at) => {
        const clean = cleanLabelValue(`${text.slice(0, at)}\udfff${text.slice(at)}`);
        expect(clean.isWellFormed()).toBe(true);
        expect(clean.length).toBeLessThanOrEqual(MAX_LABEL_LENGTH);
        expect(clean).not.toMatch(/\p{Cc}/u);
        expect(cleanLabelValue(clean)).toBe(clean);
      }),
    );
  });
});

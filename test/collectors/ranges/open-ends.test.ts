import { expect, test } from 'vitest';
import { findOpenEnds, nameKey } from '../../../src/collectors/ranges/key-space.ts';
import { mix, RangeMap, type Work } from '../../../src/collectors/ranges/range-map.ts';
import { hashOf } from '../../json/hash-of.ts';

const RANGES = 50_000;

function resultOf<Result>(work: Work<Result>): Result {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}

/** A map of ranges that join, but for those whose ids `isMissing` names. */
function mapWithout(isMissing: (id: number) => boolean): RangeMap {
  const map = new RangeMap();
  resultOf(map.reserve(RANGES));
  resultOf(map.beginScan());
  for (let id = 1; id <= RANGES; id += 1) {
    const slot = map.put(id);
    map.columns.found[slot] = isMissing(id) ? 0 : 3;
    map.keys[2 * slot] = id === 1 ? 0 : mix(id);
    map.keys[2 * slot + 1] = id === RANGES ? hashOf('"//8="') : mix(id + 1);
  }
  return map;
}

test.each([
  ['none', () => false, []],
  ['one', (id: number) => id === 77, [[77, -1] as const, [78, 1] as const]],
  [
    'every eleventh of them, in all parts of the keys',
    (id: number) => id % 11 === 3,
    Array.from({ length: RANGES }, (_, index) => index + 1)
      .filter((id) => id % 11 === 3)
      .flatMap((id) => [[id, -1] as const, [id + 1, 1] as const]),
  ],
])('the open ends of %s missing are found among 50,000 ranges', (_, isMissing, ends) => {
  const open = resultOf(findOpenEnds(mapWithout(isMissing)));
  expect(open).toEqual(new Map(ends.map(([key, more]) => [mix(key), more])));
});

test('the first key, and the last one, have one name in both forms', () => {
  const [none, text, list, last, lastList] = ['0', '""', '[]', '"//8="', '[255,255]'].map((key) =>
    nameKey(hashOf(key)),
  );
  expect([text, list, lastList]).toEqual([none, none, last]);
  expect(last).not.toBe(none);
  expect(nameKey(hashOf('"a"'))).toBe(hashOf('"a"'));
});

test('a key that two ranges begin with and one ends with is open, though the sums hold the difference alone', () => {
  const map = mapWithout(() => false);
  const slot = map.slotOf(100) ?? 0;
  map.keys[2 * slot] = mix(101);
  map.keys[2 * slot + 1] = mix(102);
  const open = resultOf(findOpenEnds(map));
  expect(open).toEqual(
    new Map([
      [mix(100), -1],
      [mix(102), -1],
      [mix(101), 2],
    ]),
  );
});

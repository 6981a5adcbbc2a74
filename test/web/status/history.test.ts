import { describe, expect, test } from 'vitest';
import { Trend } from '../../../src/web/status/history.ts';

function draw(values: readonly (number | undefined)[]): Trend {
  const trend = new Trend();
  for (const [atMs, value] of values.entries()) trend.add({ atMs, value });
  return trend;
}

describe('a trend', () => {
  test('keeps every point while it is short', () => {
    const { points } = draw([3, 1, undefined, 2]);
    expect(points.map(({ value }) => value)).toEqual([3, 1, undefined, 2]);
  });

  test('keeps sixty points, and then one for each two', () => {
    const values = Array.from({ length: 61 }, (_, at) => at);
    expect(draw(values.slice(0, 60)).points.map(({ value }) => value)).toEqual(values.slice(0, 60));
    const pairs = values.slice(0, 30).map((at) => 2 * at + 1);
    expect(draw(values).points.map(({ value }) => value)).toEqual([...pairs, 60]);
  });

  test('stays small, from the first poll to the last', () => {
    const { points } = draw(Array.from({ length: 100_000 }, (_, index) => index));
    expect(points.length).toBeLessThanOrEqual(60);
    expect(points.length).toBeGreaterThan(25);
    expect(points[0]?.value).toBeLessThan(5_000);
    expect(points.at(-1)).toEqual({ atMs: 99_999, value: 99_999 });
  });

  test('has as many polls in each point', () => {
    const { points } = draw(Array.from({ length: 240 }, (_, index) => index));
    expect(points.map(({ atMs }) => atMs)).toEqual(Array.from(points, (_, at) => at * 4 + 3));
  });

  test('still shows a peak of a single poll long ago', () => {
    const values = Array.from({ length: 5_000 }, (_, index) => (index === 77 ? 1_000 : 1));
    expect(draw(values).points.filter(({ value }) => value === 1_000)).toHaveLength(1);
  });

  test('shows a gap where all polls of a point failed', () => {
    const values = Array.from({ length: 240 }, (_, index) => (index < 120 ? 1 : undefined));
    const { points } = draw(values);
    expect(points.at(-1)?.value).toBeUndefined();
    expect(points[0]?.value).toBe(1);
  });
});

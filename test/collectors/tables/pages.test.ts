import { describe, expect, test } from 'vitest';
import type { Answer } from '../support.ts';
import { discover, pageOf, rowOf } from './listing.ts';

/** Tables in pages of 500; `total` is what the server counts. */
function paged(count: number, total = count): Answer {
  return (path) => {
    const page = Number(/pageNum=(\d+)/.exec(path)?.[1]);
    const ids = Array.from({ length: 500 }, (_, index) => (page - 1) * 500 + index + 1);
    const rows = ids.filter((id) => id <= count).map((id) => rowOf(id));
    return pageOf(rows.length === 0 ? null : rows, rows.length === 0 ? 0 : total);
  };
}

/** The second of three tables is on both pages. */
const moved: Answer = (path) =>
  pageOf(path.includes('pageNum=1&') ? [rowOf(1), rowOf(2)] : [rowOf(2)], 3);

describe('pages', () => {
  test('end after 10,000 tables, which is a limit', async () => {
    const { requests, result, limits } = await discover(paged(12_000));
    expect(requests).toHaveLength(20);
    expect(result.discovery?.all).toHaveLength(10_000);
    expect([...limits]).toEqual(['items']);
  });

  test('hold a table that moves from one to the next once', async () => {
    const { result, samples } = await discover(moved);
    expect(result.discovery?.all).toHaveLength(2);
    expect(samples.duplicates.size).toBe(0);
  });
});

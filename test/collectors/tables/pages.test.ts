import { describe, expect, test } from 'vitest';
import type { Answer } from '../support.ts';
import { discover, pageOf, rowOf } from './listing.ts';

/** Tables as a server lists them, which sorts them for each request: the last has become the first at the second. */
function paged(count: number): Answer {
  let requests = 0;
  return (path) => {
    const { searchParams } = new URL(path, 'http://memory');
    const page = Number(searchParams.get('pageNum'));
    const size = Number(searchParams.get('pageSize'));
    const ids = Array.from({ length: count }, (_, index) => count - index);
    requests += 1;
    if (requests > 1) ids.unshift(...ids.splice(-1));
    const rows = ids.slice((page - 1) * size, page * size).map((id) => rowOf(id));
    return pageOf(rows.length === 0 ? null : rows, rows.length === 0 ? 0 : count);
  };
}

/** The second of three tables is on both pages. */
const moved: Answer = (path) =>
  pageOf(path.includes('pageNum=1&') ? [rowOf(1), rowOf(2)] : [rowOf(2)], 3);

describe('pages', () => {
  test('end after 10,000 tables, which is a limit', async () => {
    const { requests, result, limits } = await discover(paged(12_000));
    expect(requests).toHaveLength(1);
    expect(result.discovery?.all).toHaveLength(10_000);
    expect([...limits]).toEqual(['items']);
  });

  test('lose no table while the server updates the sizes', async () => {
    const { result, limits } = await discover(paged(1_200));
    expect(result.discovery?.all).toHaveLength(1_200);
    expect([...limits]).toEqual([]);
  });

  test('hold a table that moves from one to the next once', async () => {
    const { result, samples } = await discover(moved);
    expect(result.discovery?.all).toHaveLength(2);
    expect(samples.duplicates.size).toBe(0);
  });
});

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
  test.each([
    [499, 1],
    [500, 1],
    [501, 2],
    [1200, 3],
  ])('%s tables are %s requests', async (count, pages) => {
    const { requests, result, limits } = await discover(paged(count));
    const numbers = Array.from({ length: pages }, (_, index) => `pageNum=${index + 1}`);
    expect(requests.map((path) => /pageNum=\d+/.exec(path)?.[0])).toEqual(numbers);
    expect(result.discovery?.all).toHaveLength(count);
    expect(limits.size).toBe(0);
  });

  test('end after 10,000 tables, which is a limit', async () => {
    const { requests, result, limits } = await discover(paged(12_000));
    expect(requests).toHaveLength(20);
    expect(result.discovery?.all).toHaveLength(10_000);
    expect([...limits]).toEqual(['items']);
  });

  test('of a server that sends all at once keep 10,000 tables', async () => {
    const rows = Array.from({ length: 10_001 }, (_, index) => rowOf(index + 1));
    const { requests, result, limits } = await discover(() => pageOf(rows));
    expect(requests).toHaveLength(1);
    expect(result.discovery?.all).toHaveLength(10_000);
    expect([...limits]).toEqual(['items']);
  });

  test('of a server that does not count end with one that is not full', async () => {
    const answer = paged(700);
    const uncounted = (path: string): object => ({ ...Object(answer(path)), pagination_info: {} });
    const { requests, result } = await discover(uncounted);
    expect(requests).toHaveLength(2);
    expect(result.discovery?.all).toHaveLength(700);
  });

  test('end with an empty one when tables are dropped meanwhile', async () => {
    const { requests } = await discover(paged(500, 600));
    expect(requests).toHaveLength(2);
  });

  test('hold a table that moves from one to the next once', async () => {
    const { result, samples } = await discover(moved);
    expect(result.discovery?.all).toHaveLength(2);
    expect(samples.duplicates.size).toBe(0);
  });
});

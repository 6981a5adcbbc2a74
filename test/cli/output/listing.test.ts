import { describe, expect, test } from 'vitest';
import { formatBytes } from '../../../src/base/format.ts';
import { CommandError } from '../../../src/cli/command.ts';
import { type ListingOptions, openListing } from '../../../src/cli/output/listing.ts';
import { type Column, numberColumn } from '../../../src/cli/output/table.ts';
import { capture } from '../run.ts';

interface Item {
  readonly name: string | null;
  readonly size?: number | undefined;
}

const COLUMNS: readonly Column<Item>[] = [
  { title: 'NAME', value: ({ name }) => name },
  numberColumn('DATA SIZE', formatBytes, ({ size }) => size),
  { title: 'COUNT', value: ({ size }) => size },
];
const LAYOUT = { member: 'items', columns: COLUMNS };
const ITEMS: readonly Item[] = [
  { name: 'b', size: 10 },
  { name: '', size: 9 },
  { name: 'c' },
  { name: 'a', size: 2048 },
  { name: null, size: 9 },
];

async function list(
  options: ListingOptions,
  items: readonly Item[],
  more?: Readonly<Record<string, unknown>>,
): Promise<string> {
  const { out, err } = await capture(async () => {
    const listing = openListing<Item>(options, LAYOUT);
    for (const item of items) listing.add(item);
    await listing.close(more);
  });
  expect(err).toBe('');
  return out;
}

describe('a table', () => {
  test.each([
    ['name', ['-', 'a', 'b', 'c', '-']],
    ['data-size', ['a', 'b', '-', '-', 'c']],
    ['count', ['-', '-', 'b', 'a', 'c']],
  ])('sorted by %s has the unknown last', async (sort, names) => {
    const text = (await list({ output: 'table', sort }, ITEMS)).split('\n');
    expect(text.slice(1, -1).map((line) => line.split(' ')[0])).toEqual(names);
  });
});

describe('JSON', () => {
  test.each([
    [{ sort: 'name' }, '--sort orders the table: omit it with --output json or ndjson'],
    [{ wide: true }, '--wide widens the table: JSON is always complete'],
  ] as const)('takes no option of the table: %j', (options, message) => {
    for (const output of ['json', 'ndjson'] as const) {
      const open = () => openListing<Item>({ output, ...options }, LAYOUT);
      expect(open).toThrow(new CommandError(message, 2));
    }
  });
});

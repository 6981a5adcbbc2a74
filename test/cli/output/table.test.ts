import { describe, expect, test } from 'vitest';
import { printTable, type TableColumn } from '../../../src/cli/output/table.ts';
import { capture } from '../run.ts';

/** The lines of a table of texts in that width, and the titles of its hidden columns. */
async function draw(
  columns: readonly TableColumn[],
  rows: Parameters<typeof printTable>[1],
  width?: number,
): Promise<readonly string[]> {
  const styled = columns.map((column) => ({ ...column, style: () => 'red' as const }));
  const { result, out } = await capture(() => printTable(styled, rows, width));
  return [...out.split('\n').slice(0, -1), ...result.map((title) => `hidden ${title}`)];
}

describe('a table', () => {
  test('aligns its columns two spaces apart, without spaces at the end of a line', async () => {
    const columns = [{ title: 'NAME' }, { title: 'SIZE', format: String }, { title: 'END' }];
    expect(
      await draw(columns, [
        ['東京', 1],
        ['a', 12_345, 'b'],
        ['long name', undefined, ''],
      ]),
    ).toEqual([
      'NAME        SIZE  END',
      '東京           1  -',
      'a          12345  b',
      'long name      -  -',
    ]);
  });

  test('cuts the middle of a text after 60 characters and escapes what moves the cursor', async () => {
    const rows = [['x'.repeat(60)], ['y'.repeat(61)], ['a\tb\nc\u001B']];
    expect(await draw([{ title: 'NAME', shrinks: true }], rows)).toEqual([
      'NAME',
      'x'.repeat(60),
      `${'y'.repeat(30)}…${'y'.repeat(29)}`,
      String.raw`a  b\nc\u{1b}`,
    ]);
  });

  test('in a narrow terminal hides the last optional columns that do not fit', async () => {
    const isOptional = true;
    const columns = [
      { title: 'ID' },
      { title: 'ONE', isOptional },
      { title: 'LONGEST', isOptional },
      { title: 'TWO', isOptional },
    ];
    const rows = [['1', 'a', 'b', 'c']];
    expect(await draw(columns, rows, 21)).toEqual(['ID  ONE  LONGEST  TWO', '1   a    b        c']);
    expect(await draw(columns, rows, 20)).toEqual(['ID  ONE  LONGEST', '1   a    b', 'hidden TWO']);
    expect(await draw(columns, rows, 16)).toEqual(['ID  ONE  LONGEST', '1   a    b', 'hidden TWO']);
    expect(await draw(columns, rows, 15)).toEqual(['ID  ONE  TWO', '1   a    c', 'hidden LONGEST']);
    expect(await draw(columns, rows, 6)).toEqual([
      'ID',
      '1',
      'hidden ONE',
      'hidden LONGEST',
      'hidden TWO',
    ]);
  });

  test('shrinks the widest columns that may shrink, down to 11 characters', async () => {
    const columns: readonly TableColumn[] = [
      { title: 'ID', shrinks: true },
      { title: 'NAME', shrinks: true },
      { title: 'FIX' },
    ];
    const rows = [['0123456789abcdef', 'a name of twenty one.', 'fixed']];
    const lines = async (width: number) => (await draw(columns, rows, width))[1];
    expect(await lines(46)).toBe('0123456789abcdef  a name of twenty one.  fixed');
    expect(await lines(45)).toBe('0123456789abcdef  a name of …enty one.  fixed');
    expect(await lines(40)).toBe('0123456…9abcdef  a name o…ty one.  fixed');
    expect(await lines(31)).toBe('01234…bcdef  a nam… one.  fixed');
  });

  test('never cuts a column that does not shrink', async () => {
    const columns: readonly TableColumn[] = [{ title: 'ID' }, { title: 'NAME', shrinks: true }];
    const rows = [['0'.repeat(70), 'a name of twenty one.']];
    expect((await draw(columns, rows, 83))[1]).toBe(`${'0'.repeat(70)}  a nam… one.`);
  });

  test('shrinks columns first, rather than to hide optional ones', async () => {
    const columns: readonly TableColumn[] = [
      { title: 'ID' },
      { title: 'NAME', shrinks: true, isOptional: true },
    ];
    const rows = [['1', 'a name of twenty one.']];
    expect(await draw(columns, rows, 15)).toEqual(['ID  NAME', '1   a nam… one.']);
    expect(await draw(columns, rows, 14)).toEqual(['ID', '1', 'hidden NAME']);
  });
});

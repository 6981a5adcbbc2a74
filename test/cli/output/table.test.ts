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
    const rows = [
      ['x'.repeat(60), 1],
      ['y'.repeat(61), 2],
      ['a\tb\nc\u001B', 3],
    ];
    const lines = await draw([{ title: 'NAME', shrinks: true }, { title: 'NODE' }], rows);
    expect(lines.map((line) => line.replace(/ +\S+$/, ''))).toEqual([
      'NAME',
      'x'.repeat(60),
      `${'y'.repeat(30)}…${'y'.repeat(29)}`,
      String.raw`a  b\nc\u{1b}`,
    ]);
  });

  test('leaves the last column whole, where nothing follows', async () => {
    const error = 'z'.repeat(200);
    expect(await draw([{ title: 'ERROR', shrinks: true }], [[error]])).toEqual(['ERROR', error]);
  });

  test('in a narrow terminal shrinks a long text before a short one', async () => {
    const columns = [
      { title: 'NAME', shrinks: true },
      { title: 'STATE', shrinks: true },
    ] as const;
    const rows = [['x'.repeat(40), 'idle in transaction']];
    const lines = await draw(columns, rows, 33);
    expect(lines[1]).toBe('xxxxxx…xxxxx  idle in transaction');
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
});

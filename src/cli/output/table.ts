import { styleText } from 'node:util';
import cliTruncate from 'cli-truncate';
import stringWidth from 'string-width';
import { formatLine, formatNumber } from '#base';
import { writeOut } from './standard-output.ts';

const GAP = '  ';
/** A name of ten kilobytes must not push every other column off the terminal. */
const MAX_WIDTH = 60;
/** Enough to recognize a name or an id by. */
const MIN_WIDTH = 11;

export type Style = 'bold' | 'red' | 'yellow' | 'green' | 'dim';

export type Value = string | number | undefined;

/** How the values of a column are written. */
export interface TableColumn {
  readonly title: string;
  /** How a number is written; such columns are right-aligned. */
  readonly format?: (value: number) => string;
  readonly style?: (value: Value) => Style | undefined;
  /**
   * A text that is cut in the middle when the terminal is too narrow, and after 60 characters where a column follows: both
   * ends are left.
   */
  readonly shrinks?: true;
  /** Hidden when the terminal is too narrow; the first ones are preferred. */
  readonly isOptional?: boolean;
}

/** A column with the value of an item. */
export interface Column<Item> extends TableColumn {
  readonly value: (item: Item) => Value | null;
  /** Names and ids ascend, loads and ages descend. */
  readonly order?: 'descending';
}

/** A column of numbers; sorted by it, the largest is first. */
export function numberColumn<Item>(
  title: string,
  format: (value: number) => string,
  value: (item: Item) => number | null | undefined,
): Column<Item> {
  return { title, format, value, order: 'descending' };
}

/** Columns of texts alone. */
export function textColumns(...titles: readonly string[]): TableColumn[] {
  return titles.map((title) => ({ title, shrinks: true }));
}

/** The values of an item, one for each column. */
export function toRow<Item>(columns: readonly Column<Item>[], item: Item): Value[] {
  return columns.map(({ value }) => value(item) ?? undefined);
}

/**
 * Prints aligned lines, a header first, with `-` for what is unknown or empty; returns the titles of the columns that a
 * terminal of this width hides.
 */
export async function printTable(
  columns: readonly TableColumn[],
  rows: readonly (readonly Value[])[],
  width = process.stdout.isTTY ? process.stdout.columns : Infinity,
): Promise<readonly string[]> {
  const header = columns.map(({ title }) => ({ text: title, style: 'bold' as const }));
  const cells = rows.map((row) => columns.map((column, index) => toCell(column, row[index])));
  const widths = fitWidths(columns, [header, ...cells], width);
  const lines = [header, ...cells].map((row) => drawRow(columns, row, widths, width));
  await writeOut(`${lines.join('\n')}\n`);
  return columns.filter((_, index) => widths[index] === 0).map(({ title }) => title);
}

interface Cell {
  readonly text: string;
  readonly style: Style | undefined;
}

function toCell({ format = formatNumber, style }: TableColumn, value: Value): Cell {
  const text = typeof value === 'number' ? format(value) : (value ?? '');
  return { text: text === '' ? '-' : formatLine(text), style: style?.(value) };
}

/** Styled for a terminal. Colours follow NO_COLOR and FORCE_COLOR. */
export function paint(style: Style, text: string): string {
  const hasColors = process.stdout.isTTY && process.stdout.hasColors();
  return hasColors ? styleText(style, text, { validateStream: false }) : text;
}

/**
 * The width of each column; 0 is hidden. Optional columns that do not fit are hidden; the space that is left goes to the
 * columns that shrink, so that a long name does not cut a short one. Example: 30 columns for ID (2), NAME (20, shrinks to
 * 11) and SIZE (8, optional): 2 + 11 + 8 and two gaps fit, and 5 are left, so NAME gets 16.
 */
function fitWidths(
  columns: readonly TableColumn[],
  lines: readonly (readonly Cell[])[],
  width: number,
): readonly number[] {
  const sizes = columns.map(({ shrinks, isOptional }, index) => {
    const widest = lines.reduce(
      (most, cells) => Math.max(most, stringWidth(cells[index]?.text ?? '')),
      0,
    );
    const least = shrinks ? Math.min(MIN_WIDTH, widest) : widest;
    const isLast = index === columns.length - 1;
    const most = shrinks && !isLast ? Math.min(MAX_WIDTH, widest) : widest;
    return { least, more: most - least, isOptional, width: 0 };
  });
  let left = width + GAP.length;
  const show = (size: (typeof sizes)[number]): void => {
    size.width = size.least;
    left -= size.least + GAP.length;
  };
  sizes.filter(({ isOptional }) => !isOptional).forEach(show);
  for (const size of sizes) {
    if (size.isOptional && size.least + GAP.length <= left) show(size);
  }
  for (const size of sizes.toSorted((a, b) => a.more - b.more)) {
    const added = size.width === 0 ? 0 : Math.min(size.more, Math.max(0, left));
    size.width += added;
    left -= added;
  }
  return sizes.map((size) => size.width);
}

function drawRow(
  columns: readonly TableColumn[],
  row: readonly Cell[],
  widths: readonly number[],
  lineWidth: number,
): string {
  const cells = columns.flatMap(({ format }, index) => {
    const { text = '', style } = row[index] ?? {};
    const width = widths[index] ?? 0;
    if (width === 0) return [];
    const cut = cliTruncate(text, width, { position: 'middle' });
    const padding = ' '.repeat(Math.max(0, width - stringWidth(cut)));
    const painted = style === undefined ? cut : paint(style, cut);
    return [format ? padding + painted : painted + padding];
  });
  const line = cells.join(GAP).trimEnd();
  return lineWidth === Infinity ? line : cliTruncate(line, lineWidth);
}

import { styleText } from 'node:util';
import cliTruncate from 'cli-truncate';
import stringWidth from 'string-width';
import { formatLine, formatNumber } from '../../format.ts';
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
  /** A text that is cut in the middle, after 60 characters and when the terminal is too narrow: both ends are left. */
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
 * columns that shrink, the first ones first. Example: 30 columns for ID (2), NAME (20, shrinks to 11) and SIZE (8,
 * optional): 2 + 11 + 8 and two gaps fit, and 5 are left, so NAME gets 16.
 */
function fitWidths(
  columns: readonly TableColumn[],
  lines: readonly (readonly Cell[])[],
  width: number,
): readonly number[] {
  const sizes = columns.map(({ shrinks }, index) => {
    const widest = lines.reduce(
      (most, cells) => Math.max(most, stringWidth(cells[index]?.text ?? '')),
      0,
    );
    if (!shrinks) return { least: widest, most: widest };
    return { least: Math.min(MIN_WIDTH, widest), most: Math.min(MAX_WIDTH, widest) };
  });
  const required = sizes.filter((_, index) => !columns[index]?.isOptional);
  let left = required.reduce((space, { least }) => space - least - GAP.length, width + GAP.length);
  const shown = sizes.map(({ least }, index) => {
    if (!columns[index]?.isOptional) return true;
    const fits = least + GAP.length <= left;
    if (fits) left -= least + GAP.length;
    return fits;
  });
  return sizes.map(({ least, most }, index) => {
    if (!shown[index]) return 0;
    const more = Math.min(most - least, Math.max(0, left));
    left -= more;
    return least + more;
  });
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

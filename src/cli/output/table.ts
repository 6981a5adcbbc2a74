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

export interface TableColumn {
  readonly title: string;
  /** How a number is written; such columns are right-aligned. */
  readonly format?: (value: number) => string;
  readonly style?: (value: Value, row: readonly Value[]) => Style | undefined;
  /** Shrinks when the terminal is too narrow: an id in its middle, so that both ends are left. */
  readonly shrinks?: boolean | 'middle';
  /** Hidden when the terminal is too narrow; the first ones are preferred. */
  readonly isOptional?: boolean;
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
  const header = columns.map(({ title }) => ({ text: formatLine(title), style: 'bold' as const }));
  const cells = rows.map((row) => columns.map((column, at) => toCell(column, row[at], row)));
  const widths = fitWidths(columns, measureColumns(header, cells), width);
  const lines = [header, ...cells].map((row) => drawRow(columns, row, widths, width));
  await writeOut(`${lines.join('\n')}\n`);
  return columns.filter((_, at) => widths[at] === 0).map(({ title }) => title);
}

type Cell = ReturnType<typeof toCell>;

function toCell(
  { format = formatNumber, style }: TableColumn,
  value: Value,
  row: readonly Value[],
) {
  const text = typeof value === 'number' ? format(value) : (value ?? '');
  return { text: text === '' ? '-' : formatLine(text), style: style?.(value, row) };
}

/** Styled for a terminal. Colours follow NO_COLOR and FORCE_COLOR. */
export function paint(style: Style, text: string): string {
  const hasColors = process.stdout.isTTY && process.stdout.hasColors();
  return hasColors ? styleText(style, text, { validateStream: false }) : text;
}

/** A text that is too wide without its middle, so that both ends are left. */
export function cutMiddle(text: string, width: number): string {
  return cliTruncate(text, width, { position: 'middle' });
}

function measureColumns(header: readonly Cell[], rows: readonly (readonly Cell[])[]): number[] {
  const widths = header.map(({ text }) => stringWidth(text));
  for (const row of rows) {
    row.forEach(({ text }, at) => {
      widths[at] = Math.max(widths[at] ?? 0, Math.min(MAX_WIDTH, stringWidth(text)));
    });
  }
  return widths;
}

/** Hides the optional columns that do not fit, then shrinks the widest until the row fits. A width of 0 is hidden. */
function fitWidths(
  columns: readonly TableColumn[],
  widths: readonly number[],
  width: number,
): readonly number[] {
  const smallest = widths.map((one, at) => (columns[at]?.shrinks ? Math.min(one, MIN_WIDTH) : one));
  const needed = smallest.filter((_, at) => !columns[at]?.isOptional);
  let left = needed.reduce((rest, one) => rest - one - GAP.length, width + GAP.length);
  const fitted = widths.map((one, at) => {
    if (!columns[at]?.isOptional) return one;
    const needs = (smallest[at] ?? 0) + GAP.length;
    if (needs > left) return 0;
    left -= needs;
    return one;
  });
  const shown = fitted.filter((one) => one > 0);
  let excess = shown.reduce((sum, one) => sum + one + GAP.length, -GAP.length) - width;
  for (; excess > 0; excess -= 1) {
    const shrinking = fitted.map((one, at) => (one > (smallest[at] ?? 0) ? one : 0));
    const widest = shrinking.indexOf(Math.max(...shrinking));
    if (!shrinking[widest]) break;
    fitted[widest] = (fitted[widest] ?? 0) - 1;
  }
  return fitted;
}

function drawRow(
  columns: readonly TableColumn[],
  row: readonly Cell[],
  widths: readonly number[],
  lineWidth: number,
): string {
  const cells = columns.flatMap(({ format, shrinks }, at) => {
    const { text = '', style } = row[at] ?? {};
    const width = widths[at] ?? 0;
    if (width === 0) return [];
    const position = shrinks === 'middle' ? 'middle' : 'end';
    const cut = cliTruncate(text, width, { position });
    const padding = ' '.repeat(Math.max(0, width - stringWidth(cut)));
    const painted = style === undefined || cut === '' ? cut : paint(style, cut);
    return [format ? padding + painted : painted + padding];
  });
  const line = cells.join(GAP).trimEnd();
  return lineWidth === Infinity ? line : cliTruncate(line, lineWidth);
}

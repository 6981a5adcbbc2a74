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
  /** Cut in the middle when the terminal is too narrow, so that both ends are left. */
  readonly shrinks?: true;
  /** Never cut: a name or an id that is copied into another command. */
  readonly isWhole?: true;
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
  const rowsWithHeader = [header, ...cells];
  const widths = fitWidths(columns, measureColumns(columns, rowsWithHeader), width);
  const lines = rowsWithHeader.map((row) => drawRow(columns, row, widths, width));
  await writeOut(`${lines.join('\n')}\n`);
  return columns.filter((_, at) => widths[at] === 0).map(({ title }) => title);
}

interface Cell {
  readonly text: string;
  readonly style: Style | undefined;
}

function toCell(
  { format = formatNumber, style }: TableColumn,
  value: Value,
  row: readonly Value[],
): Cell {
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

/** The width of each column, with its title. */
function measureColumns(
  columns: readonly TableColumn[],
  lines: readonly (readonly Cell[])[],
): number[] {
  return columns.map(({ isWhole }, at) => {
    const widths = lines.map((cells) => stringWidth(cells[at]?.text ?? ''));
    const widest = widths.reduce((most, width) => Math.max(most, width), 0);
    return isWhole ? widest : Math.min(MAX_WIDTH, widest);
  });
}

/**
 * Hides the optional columns that do not fit, then shrinks the widest until the row fits. A width of 0 is hidden. Example:
 * 30 columns for ID (2), NAME (20, shrinks to 11) and SIZE (8, optional): 2 + 11 + 8 and two gaps fit, so NAME gets 16.
 */
function fitWidths(
  columns: readonly TableColumn[],
  natural: readonly number[],
  width: number,
): readonly number[] {
  const smallest = natural.map((textWidth, at) =>
    columns[at]?.shrinks ? Math.min(textWidth, MIN_WIDTH) : textWidth,
  );
  const isShown = columns.map(({ isOptional }) => !isOptional);
  const excess = (widths: readonly number[]): number =>
    widths.reduce((sum, each, at) => sum + (isShown[at] ? each + GAP.length : 0), -GAP.length) -
    width;
  columns.forEach((_, at) => {
    if (isShown[at]) return;
    isShown[at] = true;
    if (excess(smallest) > 0) isShown[at] = false;
  });
  const widths = [...natural];
  for (let over = excess(widths); over > 0; over -= 1) {
    const shrinkable = widths.map((each, at) =>
      isShown[at] && each > (smallest[at] ?? 0) ? each : 0,
    );
    const widest = shrinkable.indexOf(Math.max(...shrinkable));
    if (!shrinkable[widest]) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return widths.map((each, at) => (isShown[at] ? each : 0));
}

function drawRow(
  columns: readonly TableColumn[],
  row: readonly Cell[],
  widths: readonly number[],
  lineWidth: number,
): string {
  const cells = columns.flatMap(({ format }, at) => {
    const { text = '', style } = row[at] ?? {};
    const width = widths[at] ?? 0;
    if (width === 0) return [];
    const cut = cutMiddle(text, width);
    const padding = ' '.repeat(Math.max(0, width - stringWidth(cut)));
    const painted = style === undefined || cut === '' ? cut : paint(style, cut);
    return [format ? padding + painted : painted + padding];
  });
  const line = cells.join(GAP).trimEnd();
  return lineWidth === Infinity ? line : cliTruncate(line, lineWidth);
}

import { styleText } from 'node:util';
import cliTruncate from 'cli-truncate';
import stringWidth from 'string-width';
import { formatLine } from '../../format.ts';
import { writeOut } from './standard-output.ts';

const GAP = '  ';
/** A name of ten kilobytes must not push every other column off the terminal. */
const MAX_WIDTH = 60;
const MIN_WIDTH = 8;

export type Style = 'bold' | 'red' | 'yellow' | 'green' | 'dim';

export interface Cell {
  readonly text: string;
  readonly style?: Style | undefined;
}

export interface TableColumn {
  readonly title: string;
  readonly alignRight?: boolean;
  /** Shrinks when the terminal is too narrow. */
  readonly shrinks?: boolean;
}

/** Prints aligned lines, a header first; none is wider than the terminal. */
export async function printTable(
  columns: readonly TableColumn[],
  rows: readonly (readonly Cell[])[],
): Promise<void> {
  const header = columns.map(({ title }): Cell => ({ text: title, style: 'bold' }));
  const width = process.stdout.isTTY ? process.stdout.columns : undefined;
  const widths = fitWidths(columns, measureColumns(header, rows), width);
  const lines = [header, ...rows].map((row) => drawRow(columns, row, widths, width));
  await writeOut(`${lines.join('\n')}\n`);
}

/** Styled for a terminal. Colours follow NO_COLOR and FORCE_COLOR. */
export function paint(style: Style, text: string): string {
  const hasColors = process.stdout.isTTY && process.stdout.hasColors();
  return hasColors ? styleText(style, text, { validateStream: false }) : text;
}

function measureColumns(header: readonly Cell[], rows: readonly (readonly Cell[])[]): number[] {
  const widths = header.map(({ text }) => stringWidth(text));
  for (const row of rows) {
    row.forEach(({ text }, at) => {
      widths[at] = Math.max(widths[at] ?? 0, Math.min(MAX_WIDTH, stringWidth(formatLine(text))));
    });
  }
  return widths;
}

/** Shrinks the widest column that may, until the row fits or none can shrink further. */
function fitWidths(
  columns: readonly TableColumn[],
  widths: readonly number[],
  width: number | undefined,
): readonly number[] {
  const fitted = [...widths];
  const gaps = GAP.length * (columns.length - 1);
  const shrinking = columns.flatMap(({ shrinks }, at) => (shrinks ? [at] : []));
  let excess = width === undefined ? 0 : fitted.reduce((sum, each) => sum + each, gaps) - width;
  while (excess > 0) {
    const widest = shrinking.toSorted((a, b) => (fitted[b] ?? 0) - (fitted[a] ?? 0))[0];
    if (widest === undefined || (fitted[widest] ?? 0) <= MIN_WIDTH) break;
    fitted[widest] = (fitted[widest] ?? 0) - 1;
    excess -= 1;
  }
  return fitted;
}

function drawRow(
  columns: readonly TableColumn[],
  row: readonly Cell[],
  widths: readonly number[],
  lineWidth: number | undefined,
): string {
  const cells = columns.map(({ alignRight }, at) => {
    const { text = '', style } = row[at] ?? {};
    const width = widths[at] ?? 0;
    const cut = cliTruncate(formatLine(text), width);
    const padding = ' '.repeat(Math.max(0, width - stringWidth(cut)));
    const painted = style === undefined || cut === '' ? cut : paint(style, cut);
    return alignRight ? padding + painted : painted + padding;
  });
  const line = cells.join(GAP).trimEnd();
  return lineWidth === undefined ? line : cliTruncate(line, lineWidth);
}

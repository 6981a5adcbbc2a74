import { styleText } from 'node:util';
import cliTruncate from 'cli-truncate';
import stringWidth from 'string-width';
import { writeLine } from './human.ts';

const GAP = '  ';
/** A name of ten kilobytes must not push every other column off the page. */
const WIDEST = 60;
const NARROWEST = 8;

export type Style = 'bold' | 'red' | 'yellow' | 'green' | 'dim';

export interface Cell {
  readonly text: string;
  readonly style?: Style | undefined;
}

export interface GridColumn {
  readonly title: string;
  readonly alignRight: boolean;
  /** Gives way when the terminal is too narrow. */
  readonly shrinks: boolean;
}

/** Where a grid is shown: a terminal of a width, or something without one. */
export interface Page {
  readonly width: number | undefined;
  readonly colours: boolean;
}

/** What standard output is. Colours follow NO_COLOR and FORCE_COLOR, as Node reads them. */
export function pageOf(stream: NodeJS.WriteStream): Page {
  const width = stream.isTTY ? stream.columns : undefined;
  return { width, colours: stream.isTTY && stream.hasColors() };
}

/** Aligned lines, a header first; no line is wider than the page. */
export function* drawGrid(
  columns: readonly GridColumn[],
  rows: Iterable<readonly Cell[]> & { readonly length: number },
  page: Page,
): Generator<string> {
  const header = columns.map(({ title }): Cell => ({ text: title, style: 'bold' }));
  const widths = fit(columns, measure(header, rows), page.width);
  yield drawRow(columns, header, { widths, page });
  for (const row of rows) yield drawRow(columns, row, { widths, page });
}

function measure(header: readonly Cell[], rows: Iterable<readonly Cell[]>): number[] {
  const widths = header.map(({ text }) => stringWidth(text));
  for (const row of rows) {
    row.forEach(({ text }, at) => {
      widths[at] = Math.max(widths[at] ?? 0, Math.min(WIDEST, stringWidth(writeLine(text))));
    });
  }
  return widths;
}

/** Takes from the widest column that may shrink, until the row fits or nothing is left to take. */
function fit(
  columns: readonly GridColumn[],
  widths: readonly number[],
  width: number | undefined,
): readonly number[] {
  const fitted = [...widths];
  const gaps = GAP.length * (columns.length - 1);
  const shrinking = columns.flatMap(({ shrinks }, at) => (shrinks ? [at] : []));
  let excess = width === undefined ? 0 : fitted.reduce((sum, each) => sum + each, gaps) - width;
  while (excess > 0) {
    const widest = shrinking.toSorted((a, b) => (fitted[b] ?? 0) - (fitted[a] ?? 0))[0];
    if (widest === undefined || (fitted[widest] ?? 0) <= NARROWEST) break;
    fitted[widest] = (fitted[widest] ?? 0) - 1;
    excess -= 1;
  }
  return fitted;
}

function drawRow(
  columns: readonly GridColumn[],
  row: readonly Cell[],
  { widths, page }: { readonly widths: readonly number[]; readonly page: Page },
): string {
  const cells = columns.map(({ alignRight }, at) => {
    const { text = '', style } = row[at] ?? {};
    const width = widths[at] ?? 0;
    const cut = cliTruncate(writeLine(text), width);
    const padding = ' '.repeat(Math.max(0, width - stringWidth(cut)));
    const drawn = style === undefined || !page.colours || cut === '' ? cut : paint(style, cut);
    return alignRight ? padding + drawn : drawn + padding;
  });
  const line = cells.join(GAP).trimEnd();
  return page.width === undefined ? line : cliTruncate(line, page.width);
}

function paint(style: Style, text: string): string {
  return styleText(style, text, { validateStream: false });
}

import { type Command, Option } from 'commander';
import { usageError } from './exit.ts';
import { type Cell, drawGrid, pageOf, type Style } from './grid.ts';
import { writeNumber } from './human.ts';
import { writeJson } from './json-text.ts';
import { writeOut } from './standard-output.ts';

const FORMATS = ['table', 'json', 'ndjson'] as const;
export type Format = (typeof FORMATS)[number];

type Value = string | number | undefined;

/** One column of a table, and one value to sort by. */
export interface Column<Item> {
  readonly title: string;
  readonly value: (item: Item) => Value;
  /** How a number is written; numbers stand to the right. */
  readonly write?: (value: number) => string;
  /** What is most wanted first: names and ids ascend, loads and ages descend. */
  readonly order?: 'descending';
  readonly shrinks?: boolean;
  readonly style?: (value: Value) => Style | undefined;
}

export interface ListingOptions<Item> {
  readonly format: Format;
  /** Name of the list in a JSON document. */
  readonly member: string;
  readonly columns: readonly Column<Item>[];
  /** A column by its option value; the order of the server when absent. */
  readonly sort?: string | undefined;
}

/** What a command prints, element by element; in JSON nothing is held but what the reader has not taken yet. */
export interface Listing<Item> {
  add(item: Item): void;
  /** Resolves when the reader has taken what was added. */
  drained(): Promise<void>;
  /** Completes the output; a JSON document gets these members, too. */
  close(more?: Readonly<Record<string, unknown>>): Promise<void>;
}

/** Adds `--output` and, where there are columns, `--sort`. */
export function addListingOptions(
  command: Command,
  columns: readonly { readonly title: string }[] = [],
): void {
  command.addOption(
    new Option('--output <format>', 'For people, or for programs: complete and stable.')
      .choices(FORMATS)
      .default('table'),
  );
  if (columns.length === 0) return;
  command.addOption(
    new Option('--sort <column>', 'Order of the table.').choices(columns.map(sortName)),
  );
}

export function openListing<Item extends object>(options: ListingOptions<Item>): Listing<Item> {
  if (options.format === 'table') return openTable(options);
  if (options.sort !== undefined) {
    throw usageError('--sort orders the table: leave it out with --output json or ndjson');
  }
  return options.format === 'ndjson' ? openLines() : openDocument(options.member);
}

/** `TXN AGE` is `txn-age` on the command line. */
function sortName({ title }: { readonly title: string }): string {
  return title.toLowerCase().replaceAll(' ', '-');
}

function openLines<Item>(): Listing<Item> {
  const out = createBuffer();
  return {
    add: (item) => out.add(`${writeJson(item)}\n`),
    drained: () => out.flush(),
    close: () => out.flush(),
  };
}

function openDocument<Item>(member: string): Listing<Item> {
  const out = createBuffer();
  let separator = `{${writeJson(member)}: [\n`;
  return {
    add(item) {
      out.add(separator + writeJson(item));
      separator = ',\n';
    },
    drained: () => out.flush(),
    async close(more = {}) {
      const start = separator === ',\n' ? '\n]' : `${separator}]`;
      const members = Object.entries(more).map(
        ([name, value]) => `,\n${writeJson(name)}: ${writeJson(value)}`,
      );
      out.add(`${start}${members.join('')}}\n`);
      await out.flush();
    },
  };
}

/** Few large writes instead of one for each element. */
function createBuffer() {
  const LARGE = 64 * 1024;
  let text = '';
  let pending: Promise<void> = Promise.resolve();
  const send = (): void => {
    const sent = text;
    text = '';
    if (sent !== '') pending = writeOut(sent);
  };
  return {
    add(more: string) {
      text += more;
      if (text.length > LARGE) send();
    },
    async flush() {
      send();
      await pending;
    },
  };
}

function openTable<Item>({ columns, sort }: ListingOptions<Item>): Listing<Item> {
  const rows: Value[][] = [];
  return {
    add: (item) => void rows.push(columns.map(({ value }) => value(item))),
    drained: () => Promise.resolve(),
    async close() {
      sortRows(rows, columns, sort);
      const cells = rows.map((row) => row.map((value, at) => toCell(columns[at], value)));
      const grid = columns.map(({ title, write, shrinks = false }) => {
        return { title, alignRight: write !== undefined, shrinks };
      });
      const out = createBuffer();
      for (const line of drawGrid(grid, cells, pageOf(process.stdout))) out.add(`${line}\n`);
      await out.flush();
    },
  };
}

function toCell<Item>(column: Column<Item> | undefined, value: Value): Cell {
  const { write = writeNumber, style } = column ?? {};
  const text = typeof value === 'number' ? write(value) : (value ?? '');
  return { text: text === '' ? '-' : text, style: style?.(value) };
}

function sortRows<Item>(
  rows: Value[][],
  columns: readonly Column<Item>[],
  sort: string | undefined,
): void {
  const at = columns.findIndex((column) => sortName(column) === sort);
  if (at === -1) return;
  const sign = columns[at]?.order === 'descending' ? -1 : 1;
  rows.sort((a, b) => {
    const [left, right] = [a[at], b[at]];
    // What is not known is last in either order.
    if (left === undefined || right === undefined) {
      return Number(left === undefined) - Number(right === undefined);
    }
    return sign * compare(left, right);
  });
}

function compare(a: string | number, b: string | number): number {
  if (a === b) return 0;
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return String(a) < String(b) ? -1 : 1;
}

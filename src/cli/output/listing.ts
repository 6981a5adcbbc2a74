import { type Command, Option } from 'commander';
import { formatJson } from '#base';
import { usageError } from '../command.ts';
import { note, writeOut } from './standard-output.ts';
import { type Column, printTable, toRow, type Value } from './table.ts';

const FORMATS = ['table', 'json', 'ndjson'] as const;

/** Few large writes instead of one for each element. */
const BUFFER_LENGTH = 64 * 1024;

/** The output of a command, element by element; JSON is not held back beyond what the reader has not taken yet. */
interface Listing<Item> {
  add(item: Item): void;
  /** Resolves when the reader has taken what was added. */
  drained(): Promise<void>;
  /** Completes the output; a JSON document gets these members, too. */
  close(more?: Readonly<Record<string, unknown>>): Promise<void>;
}

/** The options that `addListingOptions` adds. */
export interface ListingOptions {
  readonly output: (typeof FORMATS)[number];
  readonly sort?: string;
  readonly wide?: true;
}

/** Adds `--output` and, with columns, `--sort` and `--wide`. */
export function addListingOptions(
  command: Command,
  columns: readonly { readonly title: string }[] = [],
): void {
  command.addOption(
    new Option('-o, --output <format>', 'Table for people; JSON for programs, complete and stable.')
      .choices(FORMATS)
      .default('table'),
  );
  if (columns.length === 0) return;
  command.addOption(
    new Option('--sort <column>', 'Order of the table.').choices(columns.map(sortName)),
  );
  command.option('--wide', 'Show all columns in full, however narrow the terminal is.');
}

/** `TXN AGE` is `txn-age` on the command line. */
function sortName({ title }: { readonly title: string }): string {
  return title.toLowerCase().replaceAll(' ', '-');
}

/** A list as the command shows it. */
interface ListLayout<Item> {
  /** The name of the list in a JSON document. */
  readonly member: string;
  readonly columns: readonly Column<Item>[];
  /** Titles of columns that a narrow terminal must not hide, beside the first one and the one of `--sort`. */
  readonly required?: readonly string[];
  /** The order of the table without `--sort`: the highest urgency is first. */
  readonly urgencyOf?: ((item: Item) => number) | undefined;
}

/** Opens the output of a command. */
export function openListing<Item extends object>(
  { output, sort, wide }: ListingOptions,
  layout: ListLayout<Item>,
): Listing<Item> {
  if (output === 'table') return openTable(layout, sort, wide);
  if (sort !== undefined) {
    throw usageError('--sort orders the table: omit it with --output json or ndjson');
  }
  if (wide) throw usageError('--wide widens the table: JSON is always complete');
  return output === 'ndjson' ? openJson() : openJson(layout.member);
}

/** One JSON document with the elements in `member`; without it one document a line. */
function openJson<Item>(member?: string): Listing<Item> {
  let text = member === undefined ? '' : `{${formatJson(member)}: [`;
  let separator = member === undefined ? '' : '\n';
  let written: Promise<unknown> = Promise.resolve();
  const flush = async (): Promise<void> => {
    if (text !== '') written = writeOut(text);
    text = '';
    await written;
  };
  return {
    add(item) {
      text += separator + formatJson(item);
      if (member === undefined) text += '\n';
      else separator = ',\n';
      if (text.length > BUFFER_LENGTH) void flush();
    },
    drained: flush,
    close(more = {}) {
      if (member !== undefined) {
        const members = Object.entries(more).map(
          ([name, value]) => `,\n${formatJson(name)}: ${formatJson(value)}`,
        );
        text += `\n]${members.join('')}}\n`;
      }
      return flush();
    },
  };
}

function openTable<Item>(
  { columns, required = [], urgencyOf = () => 0 }: ListLayout<Item>,
  sort?: string,
  wide?: true,
): Listing<Item> {
  const rows: { readonly values: readonly Value[]; readonly urgency: number }[] = [];
  const sortedBy = columns.findIndex((column) => sortName(column) === sort);
  const shown = columns.map((column, index) => ({
    ...column,
    isOptional: index !== 0 && index !== sortedBy && !required.includes(column.title),
  }));
  return {
    add(item) {
      rows.push({ values: toRow(columns, item), urgency: urgencyOf(item) });
    },
    drained: () => Promise.resolve(),
    async close() {
      const isDescending = columns[sortedBy]?.order === 'descending';
      rows.sort((a, b) =>
        sortedBy === -1
          ? b.urgency - a.urgency
          : compare(a.values[sortedBy], b.values[sortedBy], isDescending),
      );
      const width = wide ? Infinity : undefined;
      const hidden = await printTable(
        shown,
        rows.map(({ values }) => values),
        width,
      );
      if (hidden.length > 0) note(`hidden: ${hidden.join(', ')}; --wide shows all columns`);
    },
  };
}

/** Unknown values are last in either order. */
function compare(a: Value, b: Value, isDescending: boolean): number {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
  if (a === b) return 0;
  const isLess = typeof a === 'number' && typeof b === 'number' ? a < b : String(a) < String(b);
  return isLess === isDescending ? 1 : -1;
}

// Values as people read them in tables, pages and messages; programs read JSON.

const SIZE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const;
const MAX_LIST_ITEMS = 8;

/** `12,345`. */
export function formatCount(value: number): string {
  return round(value, 3);
}

/**
 * `12,345.6`: rounded to this many decimals, in groups of three digits. The formats of JavaScript for languages write the same,
 * but their data takes 9 MiB of memory, which the exporter needs for nothing else.
 */
function round(value: number, decimals: number): string {
  const text = String(Number(value.toFixed(decimals)));
  if (Math.abs(value) < 999) return text;
  return text.replace(/^-?\d+/, (whole) => whole.replaceAll(/\B(?=(?:\d{3})+$)/g, ','));
}

/** `41`, `4.1`, `0.041`: at most three decimals. */
export function formatNumber(value: number): string {
  const magnitude = Math.floor(Math.log10(Math.abs(value)));
  const digits = Math.min(3, Math.max(0, 1 - magnitude));
  return round(value, digits);
}

/** `1.4 GiB`. */
export function formatBytes(bytes: number): string {
  const power = Math.floor(Math.log2(Math.max(1, Math.abs(bytes))) / 10);
  const unit = Math.min(SIZE_UNITS.length - 1, power);
  return `${formatNumber(bytes / 1024 ** unit)} ${SIZE_UNITS[unit]}`;
}

/** `45 %`; `<1 %` of what is not 0, `>99 %` of what is not whole. */
export function formatPercent(ratio: number): string {
  const percent = Math.round(ratio * 100);
  if (percent === 0 && ratio > 0) return '<1 %';
  return percent === 100 && ratio < 1 ? '>99 %' : `${percent} %`;
}

/** An age in its two largest units, for a table: `3h12m`, `41s`, `300ms`. */
export function formatAge(seconds: number): string {
  return formatDuration(seconds).replace('min', 'm').replaceAll(' ', '');
}

/**
 * A duration in its two largest units, for a sentence: `18 min`, `3 h 12 min`, `4.5 s`, `30 ms`. The status page runs the
 * text of this function in browsers, so it may use nothing else of this file.
 */
export function formatDuration(seconds: number): string {
  const units = [
    ['d', 86_400],
    ['h', 3600],
    ['min', 60],
    ['s', 1],
  ] as const;
  if (seconds > 0 && seconds <= 0.999) return `${Math.ceil(seconds * 1000)} ms`;
  if (seconds < 10) return `${Number(seconds.toFixed(1))} s`;
  let left = Math.round(seconds);
  const first = units.findIndex(([, size]) => left >= size);
  const parts = units.slice(first, first + 2).flatMap(([name, size]) => {
    const count = Math.floor(left / size);
    left -= count * size;
    return count === 0 ? [] : [`${count} ${name}`];
  });
  return parts.join(' ');
}

/** `4 min ago`; without a time `0 s ago`. */
export function formatAgo(at: string | undefined, nowMs: number): string {
  const seconds = at === undefined ? 0 : Math.max(0, nowMs - Date.parse(at)) / 1000;
  return `${formatDuration(Math.round(seconds))} ago`;
}

/** RFC 3339; undefined for what is no time: dates end 8.64e15 ms before and after 1970. */
export function toTimestamp(milliseconds: number): string | undefined {
  const time = new Date(milliseconds);
  return Number.isNaN(time.getTime()) ? undefined : time.toISOString();
}

/** `2026-11-21 14:02:11 UTC` of an RFC 3339 time, for people. */
export function formatTime(at: string): string {
  return `${at.slice(0, 10)} ${at.slice(11, 19)} UTC`;
}

/** The same RFC 3339 time after the wall clock was set ahead by this many milliseconds, or back. */
export function moveTime(time: string, byMs: number): string {
  return toTimestamp(Date.parse(time) + byMs) ?? time;
}

/** RFC 3339; undefined for 0, which stands for unknown, and for what is no time. */
export function toTime(milliseconds: number | undefined): string | undefined {
  return milliseconds ? toTimestamp(milliseconds) : undefined;
}

/** `1, 2 and 3`; a long list is cut, but never for one item more. */
export function formatList(items: readonly (string | number)[]): string {
  const isLong = items.length > MAX_LIST_ITEMS + 1;
  const shown = (isLong ? items.slice(0, MAX_LIST_ITEMS) : items).map(String);
  const missing = items.length - shown.length;
  const last = missing > 0 ? `${missing} more` : (shown.pop() ?? '');
  return shown.length === 0 ? last : `${shown.join(', ')} and ${last}`;
}

/** The word for one, or that for several: `1 range is`, `2 ranges are`. */
export function plural(count: number, one: string, several: string): string {
  return count === 1 ? one : several;
}

/** `node 3`, `nodes 3 and 4`. */
export function formatNodes(ids: readonly number[]): string {
  return `${plural(ids.length, 'node', 'nodes')} ${formatList(ids)}`;
}

/** `1 row`, `60 rows`. */
export function formatCounted(count: number, what: string): string {
  return `${formatCount(count)} ${plural(count, what, `${what}s`)}`;
}

/** `1 range`, `60 ranges`. */
export function formatRanges(count: number): string {
  return formatCounted(count, 'range');
}

/** The name of a table, or `table 112` where only its id is known. */
export function formatTable(table: string, word = 'table'): string {
  return /^\d+$/.test(table) ? `${word} ${table}` : table;
}

/** `tables 104 to 131` of a range that several tables share, else as `formatTable`. */
export function formatTables(
  { table, lastTable }: { readonly table: string; readonly lastTable?: string | undefined },
  word = 'table',
): string {
  if (lastTable === undefined) return formatTable(table, word);
  return `tables ${table} to ${lastTable}`;
}

/** The text with a capital letter at its beginning. */
export function capitalize(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

/** A value as a shell takes it. */
export function quoteArgument(value: string): string {
  if (/^[\w./:=-]+$/.test(value)) return value;
  return `'${value.replaceAll("'", String.raw`'\''`)}'`;
}

/**
 * C0 and C1 controls, bidi and other format characters, and separators of lines, which terminals obey and which let a text read
 * differently; lone surrogates, which are no Unicode.
 */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** Text from outside as log, metrics, page and JSON may repeat it: each unsafe character becomes U+FFFD. */
export function cleanText(text: string): string {
  return text.replaceAll(UNSAFE, '\uFFFD');
}

/** Text of a server for one line of a terminal: what would move the cursor or break the line is escaped. */
export function formatLine(text: string): string {
  return text.replaceAll('\t', '  ').replaceAll(UNSAFE, (character) => {
    if (character === '\n') return String.raw`\n`;
    return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
  });
}

/** JSON that may be printed on a terminal; a decoder gets the same value. */
export function formatJson(value: unknown, indent = 0): string {
  const text = JSON.stringify(value, undefined, indent);
  // Most texts are plain.
  return /[^ -~\n]/.test(text) ? text.replaceAll(UNSAFE, escapeUnits) : text;
}

/** A character beyond the first plane is two units; a line break is only there for the reader. */
function escapeUnits(character: string): string {
  if (character === '\n') return character;
  return Array.from(
    { length: character.length },
    (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`,
  ).join('');
}

/** The message of an error, or any other thrown value as text. */
export function messageOf(error: unknown): string {
  // Node.js reports a host with several addresses without a message, but with one error for each of them.
  if (error instanceof AggregateError && error.message === '') {
    return error.errors.map(messageOf).join(', ');
  }
  return error instanceof Error ? error.message : String(error);
}

const UNITS: readonly (readonly [name: string, seconds: number])[] = [
  ['d', 86_400],
  ['h', 3600],
  ['min', 60],
  ['s', 1],
];
const SHOWN_IN_LIST = 8;
const WHOLE = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
const ONE_DECIMAL = new Intl.NumberFormat('en-US', { maximumFractionDigits: 1 });

/** `18 min`, `3 h 12 min`, `4.5 s`, `30 ms`: two units at most. */
export function sayDuration(seconds: number): string {
  if (seconds > 0 && seconds < 0.9995) return `${Math.ceil(seconds * 1000)} ms`;
  if (seconds > 0 && seconds < 10) return `${Number(seconds.toFixed(1))} s`;
  let rest = Math.round(seconds);
  const parts: string[] = [];
  for (const [name, size] of UNITS) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0 || parts.length > 0) parts.push(count > 0 ? `${count} ${name}` : '');
    if (parts.length === 2) break;
  }
  return parts.filter((part) => part !== '').join(' ') || '0 s';
}

/** `14 h`: the larger unit of the duration alone, where there is no room for two. */
export function sayRoughly(seconds: number): string {
  return sayDuration(seconds).split(' ').slice(0, 2).join(' ');
}

/** `1,234`; small ones with one decimal. */
export function sayNumber(value: number): string {
  return (Math.abs(value) < 10 ? ONE_DECIMAL : WHOLE).format(value);
}

/** `45 %`. */
export function sayPercent(ratio: number): string {
  return `${Math.round(ratio * 100)} %`;
}

/** `1.2 MiB`. */
export function sayBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB'];
  const power = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  return `${sayNumber(bytes / 1024 ** power)} ${units[power]}`;
}

/** `1, 2 and 3`; a long list is cut. */
export function sayList(items: readonly (string | number)[]): string {
  const shown = items.slice(0, SHOWN_IN_LIST).map(String);
  if (items.length > SHOWN_IN_LIST)
    return `${shown.join(', ')} and ${items.length - SHOWN_IN_LIST} more`;
  const last = shown.pop() ?? '';
  return shown.length === 0 ? last : `${shown.join(', ')} and ${last}`;
}

/** A value as a shell takes it. */
export function sayArgument(value: string): string {
  if (/^[\w./:-]+$/.test(value)) return value;
  return `'${value.replaceAll("'", String.raw`'\''`)}'`;
}

// Numbers as people read them; programs read `--output json`.

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const;
const STEP = 1024;

/** `1.4 GiB`: three digits are enough to compare. */
export function writeBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (Math.abs(value) >= STEP && unit < UNITS.length - 1) {
    value /= STEP;
    unit += 1;
  }
  return `${writeNumber(value)} ${UNITS[unit]}`;
}

/** `41`, `4.1`, `0.041`: at most three digits behind which nobody looks. */
export function writeNumber(value: number): string {
  if (value === 0 || Number.isInteger(value)) return writeCount(value);
  const digits = Math.min(3, Math.max(0, 1 - Math.floor(Math.log10(Math.abs(value)))));
  return value.toFixed(digits);
}

/** `12,345`. */
export function writeCount(value: number): string {
  return value.toLocaleString('en-US');
}

/** An age in its two largest units: `3h12m`, `41s`, `0.3s`. */
export function writeAge(seconds: number): string {
  if (seconds < 10) return `${Number(seconds.toFixed(1))}s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole}s`;
  if (whole < 3600) return two(whole, 60, 'm', 1, 's');
  if (whole < 86_400) return two(whole, 3600, 'h', 60, 'm');
  return two(whole, 86_400, 'd', 3600, 'h');
}

function two(value: number, large: number, name: string, small: number, rest: string): string {
  const left = Math.floor((value % large) / small);
  const first = `${Math.floor(value / large)}${name}`;
  return left === 0 ? first : `${first}${left}${rest}`;
}

/** `12 ms`, `3.4 s`. */
export function writeMs(milliseconds: number): string {
  return milliseconds < 1000
    ? `${Math.round(milliseconds)} ms`
    : `${writeNumber(milliseconds / 1000)} s`;
}

/** Text from a server for one line of a terminal: what would move the cursor or break the line is written out. */
export function writeLine(text: string): string {
  return text.replaceAll('\t', '  ').replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, escapeCharacter);
}

function escapeCharacter(character: string): string {
  if (character === '\n') return '\\n';
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}

interface Bounds {
  readonly least: number;
  readonly most: number;
  readonly unit: string;
}

/** Kinds of numbers with a unit: a value in another unit, as milliseconds for seconds, is mostly outside. */
export const BOUNDS = {
  'short seconds': { least: 0.001, most: 60, unit: 'seconds' },
  seconds: { least: 10, most: 31 * 86_400, unit: 'seconds' },
  hours: { least: 1, most: 31 * 24, unit: 'hours' },
  days: { least: 1, most: 3660, unit: 'days' },
  bytes: { least: 2 ** 20, most: 2 ** 50, unit: 'bytes' },
} as const satisfies Readonly<Record<string, Bounds>>;

export type Kind =
  | keyof typeof BOUNDS
  | 'number'
  | 'minutes'
  | 'share'
  | 'regex'
  | 'optional regex'
  | 'url'
  | 'optional url';

/** How long an alert waits: one unit, as Prometheus writes it. */
export const DURATION = /^[1-9]\d{0,4}[smhd]$/;

/** What is wrong with a value of this kind. */
export function faultOf(kind: Kind, value: string): string | undefined {
  if (kind.startsWith('optional') && value === '') return undefined;
  if (kind.endsWith('regex')) return isRegex(value) ? undefined : 'not a regular expression';
  if (kind.endsWith('url')) {
    const isUrl = /^https?:\/\/[^\s'{}]+$/.test(value);
    return isUrl ? undefined : 'not an address that begins with http:// or https://';
  }
  const number = /^\d+(?:\.\d+)?$/.test(value) ? Number(value) : 0;
  if (kind === 'share') {
    const isShare = number > 0 && number <= 1;
    return isShare ? undefined : 'not a share above 0, up to 1: write 0.9 for 90 %';
  }
  if (kind === 'minutes') {
    const isWhole = number > 0 && Number.isSafeInteger(number);
    return isWhole ? undefined : 'not a whole number of minutes';
  }
  return faultOfNumber(kind, number);
}

function faultOfNumber(kind: Kind, number: number): string | undefined {
  const bounds = Object.entries(BOUNDS).find(([name]) => name === kind)?.[1];
  if (bounds === undefined) return number > 0 ? undefined : 'not a positive number';
  const { least, most, unit } = bounds;
  if (number >= least && number <= most) return undefined;
  return `not a number of ${unit} from ${least} to ${most}`;
}

/** Prometheus checks it more strictly; a flag at its beginning is not known here. */
function isRegex(text: string): boolean {
  try {
    return new RegExp(text.replace(/^\(\?[a-z]+\)/, ''), 'u').source !== '';
  } catch {
    return false;
  }
}

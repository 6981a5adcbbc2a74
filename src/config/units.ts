// Durations are written as Prometheus writes them: https://prometheus.io/docs/prometheus/latest/configuration/configuration/
const SECONDS_PER_UNIT: readonly (readonly [unit: string, seconds: number])[] = [
  ['y', 365 * 86_400],
  ['w', 7 * 86_400],
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
  ['s', 1],
  ['ms', 0.001],
];

const BYTES_PER_UNIT: readonly (readonly [unit: string, bytes: number])[] = [
  ['TiB', 1024 ** 4],
  ['GiB', 1024 ** 3],
  ['MiB', 1024 ** 2],
  ['KiB', 1024],
  ['B', 1],
];

/** Largest unit first, each at most once: `1h30m`, `500ms`; `0` is the only one without a unit. */
export const DURATION =
  /^(?:0|(?=\d)(?:(\d+)y)?(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?(?:(\d+)ms)?)$/;

/** A whole number and a binary unit: `2GiB`, `16KiB`, `100B`. */
export const BYTES = /^(\d+)(TiB|GiB|MiB|KiB|B)$/;

/** Seconds, or undefined when the text is no duration. */
export function parseDuration(text: string): number | undefined {
  const match = DURATION.exec(text);
  if (match === null) return undefined;
  const counts = match.slice(1);
  // Whole milliseconds first: 0.001 × 1500 is not exactly 1.5.
  const milliseconds = SECONDS_PER_UNIT.reduce(
    (sum, [, seconds], index) => sum + Number(counts[index] ?? 0) * Math.round(seconds * 1000),
    0,
  );
  return milliseconds / 1000;
}

/** The shortest way to write so many seconds: 90 is `1m30s`. Weeks and years are written as days. */
export function formatDuration(seconds: number): string {
  let left = Math.round(seconds * 1000);
  let text = '';
  for (const [unit, unitSeconds] of SECONDS_PER_UNIT.slice(2)) {
    const unitMilliseconds = Math.round(unitSeconds * 1000);
    const count = Math.floor(left / unitMilliseconds);
    left -= count * unitMilliseconds;
    if (count > 0) text += `${count}${unit}`;
  }
  return text === '' ? '0s' : text;
}

/** Bytes, or undefined when the text is no size. */
export function parseBytes(text: string): number | undefined {
  const [, count, unit] = BYTES.exec(text) ?? [];
  const factor = BYTES_PER_UNIT.find(([name]) => name === unit)?.[1];
  return factor === undefined ? undefined : Number(count) * factor;
}

/** The size in the largest unit that gives a whole number. */
export function formatBytes(bytes: number): string {
  const [unit, factor] = BYTES_PER_UNIT.find(([, size]) => bytes >= size && bytes % size === 0) ?? [
    'B',
    1,
  ];
  return `${bytes / factor}${unit}`;
}

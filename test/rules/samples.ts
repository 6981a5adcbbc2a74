/** `2h5m` -> 125 */
export function minutesOf(time: string): number {
  const units: Readonly<Record<string, number>> = { m: 1, h: 60, d: 1440 };
  return Array.from(
    time.matchAll(/(\d+)([mhd])/g),
    ([, count, unit = '']) => Number(count) * (units[unit] ?? Number.NaN),
  ).reduce((sum, minutes) => sum + minutes, 0);
}

/** `1x2 5+2x1 stale` -> 1, 1, 1, 5, 7, stale */
export function valuesOf(text: string): readonly string[] {
  const number = String.raw`-?[\d.]+(?:e\d+)?`;
  const repeated = new RegExp(String.raw`^(${number}|_)(?:\+?(${number}))?x(\d+)$`);
  return text.split(' ').flatMap((part) => {
    const [, first, by = '0', times] = repeated.exec(part) ?? [];
    if (first === undefined) return [part];
    const steps = [...Array(Number(times)).keys()];
    return first === '_'
      ? steps.map(() => first)
      : [first, ...steps.map((step) => String(Number(first) + (step + 1) * Number(by)))];
  });
}

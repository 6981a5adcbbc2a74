// Both functions also run in the page, so they use nothing else.

/** Three digits. */
export function roundValue(value: number): string {
  return String(Number(value.toPrecision(3)));
}

/** A value roughly as Grafana formats it. */
export function formatValue(value: number, unit: string): string {
  const suffixes: Readonly<Record<string, string>> = {
    reqps: ' req/s',
    rps: ' rd/s',
    wps: ' wr/s',
    cps: ' /s',
    cpm: ' /min',
    none: '',
    short: '',
  };
  const size = Math.abs(value);
  if (Number.isNaN(value)) return 'NaN';
  if (unit === 'percentunit') return `${roundValue(value * 100)} %`;
  if (unit === 's') {
    if (size >= 86_400) return `${roundValue(value / 86_400)} d`;
    if (size >= 3600) return `${roundValue(value / 3600)} h`;
    if (size >= 60) return `${roundValue(value / 60)} min`;
    return size >= 1 || size === 0 ? `${roundValue(value)} s` : `${roundValue(value * 1000)} ms`;
  }
  if (unit === 'bytes' || unit === 'Bps') {
    const power = Math.min(4, Math.max(0, Math.floor(Math.log(size || 1) / Math.log(1024))));
    const prefix = ['', 'Ki', 'Mi', 'Gi', 'Ti'][power] ?? '';
    return `${roundValue(value / 1024 ** power)} ${prefix}${unit === 'bytes' ? 'B' : 'B/s'}`;
  }
  const suffix = suffixes[unit] ?? ` ${unit}`;
  if (size >= 1e6) return `${roundValue(value / 1e6)} M${suffix}`;
  return (size >= 1e4 ? `${roundValue(value / 1e3)} K` : roundValue(value)) + suffix;
}

/** A value roughly as Grafana formats it. It also runs in the page, so it uses nothing outside of itself. */
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
  const round = (number: number): string => String(Number(number.toPrecision(3)));
  if (Number.isNaN(value)) return 'NaN';
  if (unit === 'percentunit') return `${round(value * 100)} %`;
  if (unit === 's' || unit === 'dtdurations') {
    if (size >= 86_400) return `${round(value / 86_400)} d`;
    if (size >= 3600) return `${round(value / 3600)} h`;
    if (size >= 60) return `${round(value / 60)} min`;
    return size >= 1 || size === 0 ? `${round(value)} s` : `${round(value * 1000)} ms`;
  }
  if (unit === 'bytes' || unit === 'Bps') {
    const power = Math.min(4, Math.max(0, Math.floor(Math.log(size || 1) / Math.log(1024))));
    const prefix = ['', 'Ki', 'Mi', 'Gi', 'Ti'][power] ?? '';
    return `${round(value / 1024 ** power)} ${prefix}${unit === 'bytes' ? 'B' : 'B/s'}`;
  }
  const suffix = suffixes[unit] ?? ` ${unit}`;
  if (size >= 1e6) return `${round(value / 1e6)} M${suffix}`;
  return (size >= 1e4 ? `${round(value / 1e3)} K` : round(value)) + suffix;
}

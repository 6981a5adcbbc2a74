const SUFFIXES: Readonly<Record<string, string>> = {
  reqps: ' req/s',
  wps: ' wr/s',
  cps: ' /s',
  cpm: ' /min',
  none: '',
  short: '',
};

/** A value roughly as Grafana formats it. */
export function formatValue(value: number, unit: string): string {
  if (Number.isNaN(value)) return 'NaN';
  if (unit === 'percentunit') return `${round(value * 100)} %`;
  if (unit === 's' || unit === 'dtdurations') return formatDuration(value);
  if (unit === 'bytes') return formatBytes(value, 'B');
  if (unit === 'Bps') return formatBytes(value, 'B/s');
  return formatCount(value) + (SUFFIXES[unit] ?? ` ${unit}`);
}

function formatDuration(seconds: number): string {
  const size = Math.abs(seconds);
  if (size >= 86_400) return `${round(seconds / 86_400)} d`;
  if (size >= 3600) return `${round(seconds / 3600)} h`;
  if (size >= 60) return `${round(seconds / 60)} min`;
  return size >= 1 || size === 0 ? `${round(seconds)} s` : `${round(seconds * 1000)} ms`;
}

function formatBytes(value: number, unit: string): string {
  const prefixes = ['', 'Ki', 'Mi', 'Gi', 'Ti'];
  const size = Math.abs(value) || 1;
  const power = Math.min(4, Math.max(0, Math.floor(Math.log(size) / Math.log(1024))));
  return `${round(value / 1024 ** power)} ${prefixes[power]}${unit}`;
}

function formatCount(value: number): string {
  if (Math.abs(value) >= 1e6) return `${round(value / 1e6)} M`;
  return Math.abs(value) >= 1e4 ? `${round(value / 1e3)} K` : round(value);
}

function round(value: number): string {
  return String(Number(value.toPrecision(3)));
}

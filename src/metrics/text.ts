import type { Family, FamilyType } from './family.ts';
import { baseName } from './family.ts';

/** Prometheus text 0.0.4 or OpenMetrics 1.0. They differ in the headers and the end only. */
export type ExpositionFormat = 'text' | 'openmetrics';

export const CONTENT_TYPES: Readonly<Record<ExpositionFormat, string>> = {
  text: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
};

/** What ends an answer. */
export const ENDINGS: Readonly<Record<ExpositionFormat, string>> = {
  text: '',
  openmetrics: '# EOF\n',
};

const OPENMETRICS_TYPES: Readonly<Record<FamilyType, string>> = {
  gauge: 'gauge',
  counter: 'counter',
  untyped: 'unknown',
  histogram: 'histogram',
};

/** The comment lines above a family's samples, in the order that the format asks for. */
export function familyHeader(family: Family, format: ExpositionFormat): string {
  const help = family.help.replaceAll('\\', String.raw`\\`).replaceAll('\n', String.raw`\n`);
  if (format === 'text') {
    return `# HELP ${family.name} ${help}\n# TYPE ${family.name} ${family.type}\n`;
  }
  const name = baseName(family);
  const unit = family.unit === undefined ? '' : `# UNIT ${name} ${family.unit}\n`;
  const quoted = help.replaceAll('"', String.raw`\"`);
  return `# TYPE ${name} ${OPENMETRICS_TYPES[family.type]}\n${unit}# HELP ${name} ${quoted}\n`;
}

/**
 * Writes the sample lines of one name, in both formats the same. `constantLabels` and `labels` are label texts as
 * `labelText` makes them.
 */
export function sampleWriter(
  name: string,
  constantLabels: string,
): (labels: string, value: number) => string {
  const open = constantLabels === '' ? `${name}{` : `${name}{${constantLabels},`;
  const bare = constantLabels === '' ? name : `${name}{${constantLabels}}`;
  return (labels, value) =>
    labels === '' ? `${bare} ${formatValue(value)}\n` : `${open}${labels}} ${formatValue(value)}\n`;
}

/** The shortest text that reads back as the same number. */
export function formatValue(value: number): string {
  if (value === Infinity) {
    return '+Inf';
  }
  return value === -Infinity ? '-Inf' : String(value);
}

import { baseName, type Family } from './family.ts';
import { type Block, gzipMember } from './gzip.ts';
import type { RenderedFamily } from './snapshot.ts';

/** Prometheus text 0.0.4 or OpenMetrics 1.0. They differ in the headers and the end only. */
export type ExpositionFormat = 'text' | 'openmetrics';

export const CONTENT_TYPES: Readonly<Record<ExpositionFormat, string>> = {
  text: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
};

export interface ExpositionRequest {
  /** May hold the same family several times, for different clusters. */
  readonly families: readonly RenderedFamily[];
  readonly format: ExpositionFormat;
  readonly gzip: boolean;
  /** Families to send, by the name of the family or of one of its samples; all when absent. */
  readonly names?: ReadonlySet<string> | undefined;
}

/** Joins rendered families into the chunks of one response: by name, all samples of a family under one header. */
export function joinExposition(request: ExpositionRequest): readonly Buffer[] {
  const { families, format, gzip, names } = request;
  const chosen = families.filter(
    ({ family, series }) => series > 0 && (names === undefined || isNamed(family, names)),
  );
  const groups = [...Map.groupBy(chosen, ({ family }) => family.name)];
  const blocks: Block[] = groups
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([, group]) =>
      group.flatMap((one, at) =>
        at > 0 ? one : [{ lines: Buffer.from(familyHeader(one.family, format)) }, one],
      ),
    );
  if (format === 'openmetrics') blocks.push({ lines: Buffer.from('# EOF\n') });
  return gzip ? gzipMember(blocks) : blocks.map(({ lines }) => lines);
}

function isNamed(family: Family, names: ReadonlySet<string>): boolean {
  const { name, type } = family;
  const sampleNames =
    type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [baseName(family)];
  return names.has(name) || sampleNames.some((sample) => names.has(sample));
}

/** The comment lines above a family's samples, in the order that the format requires. */
export function familyHeader(family: Family, format: ExpositionFormat): string {
  const help = family.help.replaceAll('\\', String.raw`\\`).replaceAll('\n', String.raw`\n`);
  if (format === 'text') {
    const type = family.type === 'gaugehistogram' ? 'untyped' : family.type;
    return `# HELP ${family.name} ${help}\n# TYPE ${family.name} ${type}\n`;
  }
  const name = baseName(family);
  const unit =
    family.openMetricsUnit === undefined ? '' : `# UNIT ${name} ${family.openMetricsUnit}\n`;
  const type = family.type === 'untyped' ? 'unknown' : family.type;
  const quoted = help.replaceAll('"', String.raw`\"`);
  return `# TYPE ${name} ${type}\n${unit}# HELP ${name} ${quoted}\n`;
}

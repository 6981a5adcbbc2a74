import { baseName, type Family, type FamilyType } from './family.ts';
import { type Block, gzipMember } from './gzip.ts';
import type { RenderedFamily, Snapshot } from './snapshot.ts';

/** Prometheus text 0.0.4 or OpenMetrics 1.0. They differ in the headers and the end only. */
export type ExpositionFormat = 'text' | 'openmetrics';

export const CONTENT_TYPES: Readonly<Record<ExpositionFormat, string>> = {
  text: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
};

/** The end of a response. */
const ENDINGS: Readonly<Record<ExpositionFormat, string>> = {
  text: '',
  openmetrics: '# EOF\n',
};

const OPENMETRICS_TYPES: Readonly<Record<FamilyType, string>> = {
  gauge: 'gauge',
  counter: 'counter',
  untyped: 'unknown',
  histogram: 'histogram',
  gaugehistogram: 'gaugehistogram',
};

export interface ExpositionRequest {
  /** May hold the same family several times, for different clusters. */
  readonly parts: Iterable<Snapshot>;
  /** Rendered for this scrape: the exporter's own metrics. */
  readonly rendered: Iterable<RenderedFamily>;
  readonly format: ExpositionFormat;
  readonly gzip: boolean;
  /** Families to send, by the name of the family or of one of its samples; all when absent. */
  readonly names?: ReadonlySet<string> | undefined;
}

/** Joins rendered families into the chunks of one response: by name, all samples of a family under one header. */
export function joinExposition(request: ExpositionRequest): readonly Buffer[] {
  const blocks: Block[] = [];
  for (const group of groupFamilies(request)) {
    blocks.push(
      { plain: Buffer.from(familyHeader(group[0].family, request.format)) },
      ...group.map(toBlock),
    );
  }
  blocks.push({ plain: Buffer.from(ENDINGS[request.format]) });
  return request.gzip ? gzipMember(blocks) : blocks.map(({ plain }) => plain);
}

type Group = [RenderedFamily, ...RenderedFamily[]];

function groupFamilies({ parts, rendered, names }: ExpositionRequest): readonly Group[] {
  const groups = new Map<string, Group>();
  const add = (one: RenderedFamily): void => {
    const group = groups.get(one.family.name);
    if (group !== undefined) {
      group.push(one);
    } else if (one.series > 0 && (names === undefined || isNamed(one.family, names))) {
      groups.set(one.family.name, [one]);
    }
  };
  for (const part of parts) {
    for (const one of part.families.values()) {
      add(one);
    }
  }
  for (const one of rendered) {
    add(one);
  }
  return [...groups.values()].toSorted(byName);
}

function byName([a]: Group, [b]: Group): number {
  return a.family.name < b.family.name ? -1 : 1;
}

function isNamed(family: Family, names: ReadonlySet<string>): boolean {
  const { name, type } = family;
  const sampleNames =
    type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [baseName(family)];
  return names.has(name) || sampleNames.some((sample) => names.has(sample));
}

function toBlock({ lines, deflated }: RenderedFamily): Block {
  return deflated === undefined ? { plain: lines } : { plain: lines, deflated };
}

/** The comment lines above a family's samples, in the order that the format asks for. */
export function familyHeader(family: Family, format: ExpositionFormat): string {
  const help = family.help.replaceAll('\\', String.raw`\\`).replaceAll('\n', String.raw`\n`);
  if (format === 'text') {
    const type = family.type === 'gaugehistogram' ? 'untyped' : family.type;
    return `# HELP ${family.name} ${help}\n# TYPE ${family.name} ${type}\n`;
  }
  const name = baseName(family);
  const unit =
    family.openMetricsUnit === undefined ? '' : `# UNIT ${name} ${family.openMetricsUnit}\n`;
  const quoted = help.replaceAll('"', String.raw`\"`);
  return `# TYPE ${name} ${OPENMETRICS_TYPES[family.type]}\n${unit}# HELP ${name} ${quoted}\n`;
}

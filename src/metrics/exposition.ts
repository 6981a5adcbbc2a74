import type { Block } from './gzip-member.ts';
import { gzipMember } from './gzip-member.ts';
import type { Family } from './family.ts';
import { baseName } from './family.ts';
import type { RenderedFamily, Snapshot } from './snapshot.ts';
import type { ExpositionFormat } from './text.ts';
import { ENDINGS, familyHeader } from './text.ts';

/** The body of a scrape: buffers to be sent one after the other, and their length together. */
export interface Exposition {
  readonly chunks: readonly Buffer[];
  readonly length: number;
}

export interface ExpositionRequest {
  /** May hold the same family several times, for different clusters. */
  readonly parts: Iterable<Snapshot>;
  /** Rendered for this scrape: outcomes and the exporter's own metrics. */
  readonly rendered: Iterable<RenderedFamily>;
  readonly format: ExpositionFormat;
  readonly gzip: boolean;
  /** Families to send, by the name of the family or of one of its samples; all when absent. */
  readonly names?: ReadonlySet<string> | undefined;
}

/** Joins what is ready into one answer: families by name, all samples of one under one header. */
export function joinExposition(request: ExpositionRequest): Exposition {
  const blocks: Block[] = [];
  for (const group of groupFamilies(request)) {
    blocks.push(
      { plain: Buffer.from(familyHeader(group[0].family, request.format)) },
      ...group.map(toBlock),
    );
  }
  blocks.push({ plain: Buffer.from(ENDINGS[request.format]) });
  const chunks = request.gzip ? gzipMember(blocks) : blocks.map((block) => block.plain);
  return { chunks, length: chunks.reduce((sum, chunk) => sum + chunk.length, 0) };
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

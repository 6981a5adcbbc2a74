import { promisify } from 'node:util';
import { constants, crc32, deflateRaw } from 'node:zlib';
import { TimeSlice } from '../time-slice.ts';
import type { Family } from './family.ts';
import type { SampleSet, SampleSetFamily } from './sample-set.ts';
import { sampleWriter } from './sample-text.ts';

/** The sample lines of one family, the same in both formats. */
export interface RenderedFamily {
  readonly family: Family;
  readonly series: number;
  /** The rank of the entry of each series, if the family belongs to a list. */
  readonly ranks?: readonly number[] | undefined;
  readonly lines: Buffer;
  /**
   * Present where the lines are long enough to be compressed ahead of the scrape: bytes of a raw deflate stream that
   * start on a byte, refer to nothing before them and do not end the stream, with the CRC-32 of the lines.
   */
  readonly deflated?: { readonly bytes: Buffer; readonly crc: number } | undefined;
}

/** Rendered samples: frozen bytes that scrapes join. */
export interface Snapshot {
  readonly families: ReadonlyMap<string, RenderedFamily>;
  readonly series: number;
}

/** Whether a budget keeps a family, or the entries of that rank if it belongs to a list. */
export type Keeps = (family: Family, rank: number) => boolean;

/** Samples between two looks at the clock: about a tenth of a millisecond. */
const SAMPLES_PER_LOOK = 250;
/** Shorter families are compressed at the scrape, together: cheaper and smaller than a separate piece. */
const MIN_DEFLATED_BYTES = 4096;
/** Level 1 costs a third of the default for about the same size: lines repeat their neighbours, so a window of 4 KiB is enough. */
const DEFLATE_OPTIONS = {
  level: 1,
  windowBits: 12,
  chunkSize: 64 * 1024,
  finishFlush: constants.Z_FULL_FLUSH,
} as const;

const deflate = promisify(deflateRaw);

/**
 * Renders those samples of a poll that are kept, in slices; compression runs outside the event loop. They must not change
 * meanwhile.
 */
export async function renderSnapshot(
  set: SampleSet,
  keeps: Keeps = () => true,
  sliceMs?: number,
): Promise<Snapshot> {
  const slice = new TimeSlice(sliceMs);
  const families = new Map<string, RenderedFamily>();
  let series = 0;
  // One family is compressed while the next is rendered; more at a time would only take memory.
  let compressing = Promise.resolve();
  for (const whole of set.families()) {
    const { family } = whole;
    const { samples, ranks } = cutSamples(whole, keeps);
    series += samples.size;
    const [text] = await Promise.all([
      renderLines({ family, samples }, set.constantLabels, slice),
      compressing,
    ]);
    compressing = compress(text).then((deflated) => {
      const rendered = { family, lines: text.lines, series: samples.size, ranks, deflated };
      families.set(family.name, Object.freeze(rendered));
    });
  }
  await compressing;
  return Object.freeze({ families, series });
}

/** Renders a small set at once, for one scrape. */
export function renderFamilies(set: SampleSet): readonly RenderedFamily[] {
  return Array.from(set.families(), ({ family, samples }) => {
    const write = sampleWriter(family.name, set.constantLabels);
    const lines = Array.from(samples, ([labels, value]) => write(labels, value)).join('');
    return { family, lines: Buffer.from(lines), series: samples.size };
  });
}

/** The snapshot without what the budget does not keep; itself where that is nothing. */
export function cutSnapshot(snapshot: Snapshot, keeps: Keeps): Snapshot {
  const families = new Map<string, RenderedFamily>();
  let series = 0;
  for (const [name, rendered] of snapshot.families) {
    const cut = cutFamily(rendered, keeps);
    if (cut.series > 0) families.set(name, cut);
    series += cut.series;
  }
  return series === snapshot.series ? snapshot : Object.freeze({ families, series });
}

/** Only lists, which are short, lose some of their lines; what is left of them is compressed at the scrape. */
function cutFamily(rendered: RenderedFamily, keeps: Keeps): RenderedFamily {
  const { family, lines, ranks } = rendered;
  if (ranks === undefined) {
    return keeps(family, 0) ? rendered : { family, lines: Buffer.alloc(0), series: 0 };
  }
  const kept = ranks.filter((rank) => keeps(family, rank));
  if (kept.length === ranks.length) return rendered;
  const isKept = (_line: string, at: number): boolean => keeps(family, ranks[at] ?? 0);
  const text = lines.toString().split('\n').slice(0, -1).filter(isKept);
  const cut = Buffer.from(text.map((line) => `${line}\n`).join(''));
  return Object.freeze({ family, lines: cut, series: kept.length, ranks: kept });
}

function cutSamples({ family, samples, ranks }: SampleSetFamily, keeps: Keeps) {
  if (ranks === undefined)
    return { samples: keeps(family, 0) ? samples : new Map<string, number>() };
  const kept = [...samples].filter((_sample, at) => keeps(family, ranks[at] ?? 0));
  return { samples: new Map(kept), ranks: ranks.filter((rank) => keeps(family, rank)) };
}

async function renderLines(
  { family, samples }: SampleSetFamily,
  constantLabels: string,
  slice: TimeSlice,
) {
  const write = sampleWriter(family.name, constantLabels);
  const chunks: Buffer[] = [];
  let lines = '';
  let written = 0;
  for (const [labels, value] of samples) {
    lines += write(labels, value);
    written += 1;
    if (written % SAMPLES_PER_LOOK === 0) {
      chunks.push(Buffer.from(lines));
      lines = '';
      if (slice.isOver) await slice.pause();
    }
  }
  chunks.push(Buffer.from(lines));
  return joinChunks(chunks, slice);
}

/** `Buffer.concat` and the checksum in slices: a family of 100,000 series has more than 10 MB. */
async function joinChunks(chunks: readonly Buffer[], slice: TimeSlice) {
  const lines = Buffer.allocUnsafe(chunks.reduce((sum, chunk) => sum + chunk.length, 0));
  let crc = 0;
  let at = 0;
  for (const chunk of chunks) {
    at += chunk.copy(lines, at);
    crc = crc32(chunk, crc);
    if (slice.isOver) await slice.pause();
  }
  return { lines, crc };
}

async function compress({ lines, crc }: Awaited<ReturnType<typeof joinChunks>>) {
  if (lines.length < MIN_DEFLATED_BYTES) return undefined;
  return Object.freeze({ bytes: await deflate(lines, DEFLATE_OPTIONS), crc });
}

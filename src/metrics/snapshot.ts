import { promisify } from 'node:util';
import { constants, deflateRaw } from 'node:zlib';
import { TimeSlice } from '../time-slice.ts';
import { type RenderedFamily, sampleWriter, type SampleWriter } from './exposition.ts';
import type { FamilySamples } from './family.ts';

/** Rendered samples: frozen bytes that scrapes join. */
export interface Snapshot {
  readonly families: ReadonlyMap<string, RenderedFamily>;
  readonly series: number;
}

/** The samples that are rendered. */
interface Rendered {
  readonly constantLabels: string;
  families(): Iterable<FamilySamples>;
}

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
 * Renders the samples of a poll, or only `families` of them, in slices; compression runs outside the event loop. They must
 * not change meanwhile.
 */
export async function renderSnapshot(
  set: Rendered,
  families: Iterable<FamilySamples> = set.families(),
  sliceMs?: number,
): Promise<Snapshot> {
  const slice = new TimeSlice(sliceMs);
  const rendered: RenderedFamily[] = [];
  // One family is compressed while the next is rendered; more at a time would only take memory.
  let compressing = Promise.resolve();
  for (const { family, samples } of families) {
    const write = sampleWriter(family.name, set.constantLabels);
    const [lines] = await Promise.all([renderLines(samples, write, slice), compressing]);
    compressing = compress(lines).then((deflated) => {
      rendered.push(Object.freeze({ family, series: samples.size, lines, deflated }));
    });
  }
  await compressing;
  return Object.freeze({
    families: new Map(rendered.map((lines) => [lines.family.name, lines])),
    series: rendered.reduce((sum, { series }) => sum + series, 0),
  });
}

/** Renders a small set at once, for one scrape. */
export function renderFamilies(set: Rendered): readonly RenderedFamily[] {
  return Array.from(set.families(), ({ family, samples }) => {
    const write = sampleWriter(family.name, set.constantLabels);
    const lines = Array.from(samples, ([labels, value]) => write(labels, value)).join('');
    return { family, lines: Buffer.from(lines), series: samples.size };
  });
}

async function renderLines(
  samples: FamilySamples['samples'],
  write: SampleWriter,
  slice: TimeSlice,
): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let lines = '';
  let written = 0;
  for (const [labels, value] of samples) {
    lines += write(labels, value);
    written += 1;
    if (written % SAMPLES_PER_LOOK === 0 || written === samples.size) {
      pieces.push(Buffer.from(lines));
      lines = '';
      if (slice.isOver) await slice.pause();
    }
  }
  // Joining 12 MB, of 100,000 series, takes a few milliseconds.
  return Buffer.concat(pieces);
}

async function compress(lines: Buffer): Promise<Buffer | undefined> {
  return lines.length < MIN_DEFLATED_BYTES ? undefined : await deflate(lines, DEFLATE_OPTIONS);
}

import { promisify } from 'node:util';
import { constants, deflateRaw } from 'node:zlib';
import { TimeSlice } from '../time-slice.ts';
import type { Family } from './family.ts';
import type { SampleSet, SampleSetFamily } from './sample-set.ts';
import { sampleWriter, type SampleWriter } from './sample-text.ts';

/** The sample lines of one family, the same in both formats. */
export interface RenderedFamily {
  readonly family: Family;
  readonly series: number;
  readonly lines: Buffer;
  /**
   * Present where the lines are long enough to be compressed ahead of the scrape: bytes of a raw deflate stream that
   * start on a byte, refer to nothing before them and do not end the stream.
   */
  readonly deflated?: Buffer | undefined;
}

/** Rendered samples: frozen bytes that scrapes join. */
export interface Snapshot {
  readonly families: ReadonlyMap<string, RenderedFamily>;
  readonly series: number;
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
  set: SampleSet,
  families: Iterable<SampleSetFamily> = set.families(),
  sliceMs?: number,
): Promise<Snapshot> {
  const slice = new TimeSlice(sliceMs);
  const text = new TextBytes();
  const rendered: RenderedFamily[] = [];
  // One family is compressed while the next is rendered; more at a time would only take memory.
  let compressing = Promise.resolve();
  for (const { family, samples } of families) {
    const write = sampleWriter(family.name, set.constantLabels);
    await Promise.all([renderLines(samples, write, text, slice), compressing]);
    const lines = text.take();
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
export function renderFamilies(set: SampleSet): readonly RenderedFamily[] {
  return Array.from(set.families(), ({ family, samples }) => {
    const write = sampleWriter(family.name, set.constantLabels);
    const lines = Array.from(samples, ([labels, value]) => write(labels, value)).join('');
    return { family, lines: Buffer.from(lines), series: samples.size };
  });
}

async function renderLines(
  samples: SampleSetFamily['samples'],
  write: SampleWriter,
  text: TextBytes,
  slice: TimeSlice,
): Promise<void> {
  let lines = '';
  let written = 0;
  for (const [labels, value] of samples) {
    lines += write(labels, value);
    written += 1;
    if (written % SAMPLES_PER_LOOK === 0 || written === samples.size) {
      text.add(lines);
      lines = '';
      if (slice.isOver) await slice.pause();
    }
  }
}

/** Text in UTF-8 that is added piece by piece. Its memory is used again for the next text. */
class TextBytes {
  #bytes = Buffer.allocUnsafe(64 * 1024);
  #length = 0;

  add(text: string): void {
    // A UTF-16 code unit takes three bytes at most.
    const needed = this.#length + 3 * text.length;
    if (needed > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(Math.ceil(1.5 * needed));
      this.#bytes.copy(larger, 0, 0, this.#length);
      this.#bytes = larger;
    }
    this.#length += this.#bytes.write(text, this.#length);
  }

  /** A copy of all that was added since the last call: 12 MB, of 100,000 series, take a few milliseconds. */
  take(): Buffer {
    const copy = Buffer.from(this.#bytes.subarray(0, this.#length));
    this.#length = 0;
    return copy;
  }
}

async function compress(lines: Buffer): Promise<Buffer | undefined> {
  return lines.length < MIN_DEFLATED_BYTES ? undefined : await deflate(lines, DEFLATE_OPTIONS);
}

import { constants, crc32, deflateRawSync } from 'node:zlib';
import { baseName, type Family } from './family.ts';
import { formatValue } from './label-text.ts';

// The text of /metrics: header lines, sample lines, and their joining into one response.

/** Prometheus text 0.0.4 or OpenMetrics 1.0. They differ in the headers and the end only. */
export type ExpositionFormat = 'text' | 'openmetrics';

export const CONTENT_TYPES: Readonly<Record<ExpositionFormat, string>> = {
  text: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
};

/** Writes the line of one sample. */
type SampleWriter = (labels: string, value: number) => string;

/**
 * Writes the sample lines of one name, in both formats the same. `constantLabels` and `labels` are label texts as
 * `labelText` makes them.
 */
export function sampleWriter(name: string, constantLabels: string): SampleWriter {
  const open = constantLabels === '' ? `${name}{` : `${name}{${constantLabels},`;
  const bare = constantLabels === '' ? name : `${name}{${constantLabels}}`;
  return (labels, value) =>
    labels === '' ? `${bare} ${formatValue(value)}\n` : `${open}${labels}} ${formatValue(value)}\n`;
}

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

export interface ExpositionRequest {
  /** May hold the same family several times, for different clusters. */
  readonly families: readonly RenderedFamily[];
  readonly format: ExpositionFormat;
  readonly gzip: boolean;
  /** Families to send, by the name of the family or of one of its samples; all when absent. */
  readonly names?: ReadonlySet<string> | undefined;
}

/** Lines, and the same compressed where they are many. */
type Block = Pick<RenderedFamily, 'lines' | 'deflated'>;

/** Joins rendered families into the chunks of one response: by name, all samples of a family under one header. */
export function joinExposition(request: ExpositionRequest): readonly Buffer[] {
  const { families, format, gzip, names } = request;
  const chosen = families.filter(
    ({ family, series }) => series > 0 && (names === undefined || isNamed(family, names)),
  );
  const groups = [...Map.groupBy(chosen, ({ family }) => family.name)];
  const sorted = groups.toSorted(([a], [b]) => (a < b ? -1 : 1));
  const blocks = sorted.flatMap(([, group]): readonly Block[] => {
    const headers = group.slice(0, 1).map(({ family }) => familyHeader(family, format));
    return [{ lines: Buffer.from(headers.join('')) }, ...group];
  });
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

/** RFC 1952: magic, deflate, no flags, no time, no level, system unknown. */
const GZIP_HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]);
/** An empty block with the "last block" bit, which the pieces leave out. */
const LAST_BLOCK = Buffer.from([3, 0]);

/**
 * One gzip member of blocks of lines; large ones are compressed already. One, because `curl --compressed` and
 * others stop after a first member. The blocks between ready pieces are compressed here, together.
 */
function gzipMember(blocks: readonly Block[]): readonly Buffer[] {
  const chunks: Buffer[] = [GZIP_HEADER];
  let waiting: Buffer[] = [];
  let crc = 0;
  let length = 0;
  const addWaiting = (): void => {
    if (waiting.length === 0) return;
    const options = { level: 1, finishFlush: constants.Z_FULL_FLUSH };
    chunks.push(deflateRawSync(Buffer.concat(waiting), options));
    waiting = [];
  };
  for (const { lines, deflated } of blocks) {
    length += lines.length;
    // The checksum of 12 MB, of 100,000 series, takes a few milliseconds.
    crc = crc32(lines, crc);
    if (deflated === undefined) {
      waiting.push(lines);
    } else {
      addWaiting();
      chunks.push(deflated);
    }
  }
  addWaiting();
  const trailer = Buffer.alloc(8);
  trailer.writeUInt32LE(crc, 0);
  trailer.writeUInt32LE(length % 2 ** 32, 4);
  return [...chunks, LAST_BLOCK, trailer];
}

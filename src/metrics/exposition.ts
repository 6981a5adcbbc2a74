import { constants, crc32, deflateRawSync } from 'node:zlib';
import { baseName, type Family } from './family.ts';
import type { RenderedFamily } from './snapshot.ts';

/** Prometheus text 0.0.4 or OpenMetrics 1.0. They differ in the headers and the end only. */
export type ExpositionFormat = 'text' | 'openmetrics';

export const CONTENT_TYPES: Readonly<Record<ExpositionFormat, string>> = {
  text: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
};

/** RFC 1952: magic, deflate, no flags, no time, no level, system unknown. */
const GZIP_HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]);
/** An empty block with the "last block" bit, which the pieces leave out. */
const LAST_BLOCK = Buffer.from([3, 0]);

type Block = Pick<RenderedFamily, 'lines' | 'deflated'>;

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
  const type = family.type === 'untyped' ? 'unknown' : family.type;
  const quoted = help.replaceAll('"', String.raw`\"`);
  return `# TYPE ${name} ${type}\n${unit}# HELP ${name} ${quoted}\n`;
}

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
    if (deflated === undefined) {
      waiting.push(lines);
      crc = crc32(lines, crc);
    } else {
      addWaiting();
      chunks.push(deflated.bytes);
      crc = combineCrc32(crc, deflated.crc, lines.length);
    }
  }
  addWaiting();
  const trailer = Buffer.alloc(8);
  trailer.writeUInt32LE(crc, 0);
  trailer.writeUInt32LE(length % 2 ** 32, 4);
  return [...chunks, LAST_BLOCK, trailer];
}

/**
 * CRC-32 of two byte sequences in a row from the CRC-32 of each, after `crc32_combine` of zlib. A CRC is a polynomial
 * over GF(2) modulo POLYNOMIAL, highest power in the lowest bit; appending n bytes multiplies it by x^(8n).
 */
export function combineCrc32(first: number, second: number, secondLength: number): number {
  return (multiply(powerOfX(secondLength), first) ^ second) >>> 0;
}

const POLYNOMIAL = 0xedb88320;
const ONE = 0x80000000;
/** x^8: one byte. */
const BYTE = 0x00800000;

/** x^(8 · bytes) by repeated squaring. */
function powerOfX(bytes: number): number {
  let result = ONE;
  let square = BYTE;
  for (let left = bytes; left > 0; left = Math.floor(left / 2)) {
    if (left % 2 === 1) result = multiply(square, result);
    square = multiply(square, square);
  }
  return result;
}

function multiply(a: number, b: number): number {
  let product = 0;
  let shifted = b;
  for (let bit = ONE; bit !== 0; bit >>>= 1) {
    if ((a & bit) !== 0) product ^= shifted;
    shifted = (shifted & 1) === 0 ? shifted >>> 1 : (shifted >>> 1) ^ POLYNOMIAL;
  }
  return product;
}

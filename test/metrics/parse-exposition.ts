/** A sample as a reader of the exposition sees it. */
export interface ParsedSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/su;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"(?:,|$)/gsu;

/**
 * A small reader of both formats, written from their specifications and independent of the writer. Throws on
 * any line that is neither a comment nor a sample.
 */
export function parseExposition(text: string): readonly ParsedSample[] {
  const lines = text.split('\n');
  if (lines.pop() !== '') {
    throw new Error('the last line has no end');
  }
  return lines.filter((line) => !line.startsWith('#')).map(parseSample);
}

function parseSample(line: string): ParsedSample {
  const [, name, labels = '', value = ''] = SAMPLE.exec(line) ?? [];
  if (name === undefined) {
    throw new Error(`not a sample: ${JSON.stringify(line)}`);
  }
  const found = [...labels.matchAll(LABEL)];
  if (found.map(([whole]) => whole).join('') !== labels) {
    throw new Error(`labels cannot be read: ${JSON.stringify(line)}`);
  }
  return {
    name,
    labels: Object.fromEntries(found.map(([, label = '', text = '']) => [label, unescape(text)])),
    value: Number(value.replace('Inf', 'Infinity')),
  };
}

function unescape(text: string): string {
  return text.replaceAll(/\\(.)/gsu, (_, character: string) =>
    character === 'n' ? '\n' : character,
  );
}

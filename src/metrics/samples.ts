import type { RenderedFamily } from './snapshot.ts';

/** One sample as a scrape shows it. */
export interface Sample {
  /** Constant labels included. */
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const LABEL = /([a-z0-9_]+)="((?:[^"\\]|\\.)*)"/g;

/** Reads rendered lines back: what a person is shown is then what Prometheus is told. */
export function readSamples({ lines }: RenderedFamily): readonly Sample[] {
  const text = lines.toString();
  return text === '' ? [] : text.slice(0, -1).split('\n').map(readSample);
}

function readSample(line: string): Sample {
  // A clean label value may hold spaces and braces, a number holds neither.
  const end = line.lastIndexOf(' ');
  const labels: Record<string, string> = {};
  for (const [, name = '', value = ''] of line.slice(0, end).matchAll(LABEL)) {
    labels[name] = value.replaceAll(/\\(.)/g, '$1');
  }
  return { labels, value: readValue(line.slice(end + 1)) };
}

function readValue(text: string): number {
  if (text === '+Inf') return Infinity;
  return text === '-Inf' ? -Infinity : Number(text);
}

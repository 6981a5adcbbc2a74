import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type ExpositionFormat,
  familyHeader,
  joinExposition,
} from '../../src/metrics/exposition.ts';
import type { Family } from '../../src/metrics/family.ts';
import { counter, gauge, histogram, untyped } from '../../src/metrics/family.ts';
import { formatValue, cleanLabelValue } from '../../src/metrics/label-text.ts';
import { SampleSet } from '../../src/metrics/sample-set.ts';
import { renderFamilies } from '../../src/metrics/snapshot.ts';
import { parseExposition } from './parse-exposition.ts';
import { run, works } from './programs.ts';

const FORMATS: readonly ExpositionFormat[] = ['text', 'openmetrics'];
const GAUGE = gauge({
  name: 'crdb_size_bytes',
  help: 'A "quoted" back\\slash\nand a second line.',
  labels: ['app', 'user'],
});
const COUNTER = counter({ name: 'crdb_seen_total', help: 'Seen.', labels: [] });
const UNTYPED = untyped({ name: 'crdb_key', help: 'Key.', labels: [] });
const HISTOGRAM = histogram({ name: 'crdb_h_seconds', help: 'H.', labels: [], buckets: [0.5] });

function render(set: SampleSet, format: ExpositionFormat): string {
  const families = renderFamilies(set);
  return Buffer.concat(joinExposition({ families, format, gzip: false })).toString();
}

describe('the header of a family', () => {
  it.each<[Family, string]>([
    [
      GAUGE,
      '# HELP crdb_size_bytes A "quoted" back\\\\slash\\nand a second line.\n# TYPE crdb_size_bytes gauge\n',
    ],
    [COUNTER, '# HELP crdb_seen_total Seen.\n# TYPE crdb_seen_total counter\n'],
    [UNTYPED, '# HELP crdb_key Key.\n# TYPE crdb_key untyped\n'],
    [HISTOGRAM, '# HELP crdb_h_seconds H.\n# TYPE crdb_h_seconds histogram\n'],
  ])('in the text format: $name', (family, expected) => {
    expect(familyHeader(family, 'text')).toBe(expected);
  });

  it.each<[Family, string]>([
    [
      GAUGE,
      '# TYPE crdb_size_bytes gauge\n# UNIT crdb_size_bytes bytes\n# HELP crdb_size_bytes A \\"quoted\\" back\\\\slash\\nand a second line.\n',
    ],
    [COUNTER, '# TYPE crdb_seen counter\n# HELP crdb_seen Seen.\n'],
    [UNTYPED, '# TYPE crdb_key unknown\n# HELP crdb_key Key.\n'],
    [
      HISTOGRAM,
      '# TYPE crdb_h_seconds histogram\n# UNIT crdb_h_seconds seconds\n# HELP crdb_h_seconds H.\n',
    ],
  ])('in OpenMetrics: $name', (family, expected) => {
    expect(familyHeader(family, 'openmetrics')).toBe(expected);
  });
});

describe('a value', () => {
  it.each([
    [0, '0'],
    [-0, '0'],
    [42, '42'],
    [9_007_199_254_740_991, '9007199254740991'],
    [0.1, '0.1'],
    [1e21, '1e+21'],
    [5e-324, '5e-324'],
    [Infinity, '+Inf'],
    [-Infinity, '-Inf'],
    [Number.NaN, 'NaN'],
  ])('%d is written as %s', (value, expected) => {
    expect(formatValue(value)).toBe(expected);
  });
});

const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 150 }),
  fc.string({
    unit: fc.constantFrom(
      '"',
      '\\',
      'n',
      '\n',
      '\r',
      '{',
      '}',
      ',',
      '=',
      ' ',
      '#',
      '\u2028',
      '\ud83d',
    ),
  }),
);
const anyValue = fc.oneof(fc.double({ noNaN: true }), fc.integer(), fc.maxSafeInteger());
const anySamples = fc.array(fc.record({ app: anyText, user: anyText, value: anyValue }), {
  maxLength: 20,
});

/** The samples as a reader should see them: cleaned, the last of equal label sets, in the order of writing. */
function expectedSamples(samples: readonly { app: string; user: string; value: number }[]) {
  const byLabels = new Map(
    samples.map(({ app, user, value }) => {
      const labels = {
        crdb_cluster: 'prod',
        app: cleanLabelValue(app),
        user: cleanLabelValue(user),
      };
      return [
        JSON.stringify(labels),
        { name: 'crdb_size_bytes', labels, value: value + 0 },
      ] as const;
    }),
  );
  return [...byLabels.values()];
}

function fillSheet(samples: readonly { app: string; user: string; value: number }[]): SampleSet {
  const set = new SampleSet({ crdb_cluster: 'prod' });
  for (const { app, user, value } of samples) {
    set.set(GAUGE, { app, user }, value);
  }
  return set;
}

describe('what is written', () => {
  it.each(FORMATS)('is read back the same from %s, whatever labels and values', (format) => {
    fc.assert(
      fc.property(anySamples, (samples) => {
        const text = render(fillSheet(samples), format);
        expect(parseExposition(text)).toEqual(expectedSamples(samples));
        expect(text.endsWith('# EOF\n')).toBe(format === 'openmetrics');
      }),
      { numRuns: 500 },
    );
  });

  it.each(FORMATS)('is empty but for its end without samples in %s', (format) => {
    expect(render(new SampleSet({}), format)).toBe(format === 'text' ? '' : '# EOF\n');
  });
});

/** Reads an exposition with the Python client and prints name, labels and value of each sample as JSON. */
const PYTHON_READER = `
import json, sys
from prometheus_client.parser import text_string_to_metric_families as text
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
read = {"text": text, "openmetrics": openmetrics}[sys.argv[1]]
families = list(read(sys.stdin.buffer.read().decode()))
print(json.dumps({
  "samples": [[s.name, s.labels, repr(float(s.value))] for f in families for s in f.samples],
  "help": [f.documentation for f in families],
}))
`;

interface PythonReading {
  readonly samples: readonly [string, Record<string, string>, string][];
  readonly help: readonly string[];
}

describe.skipIf(!works('python3', ['-c', 'import prometheus_client']))('the Python client', () => {
  it.each(FORMATS)('reads the same from %s', (format) => {
    const samples = fc.sample(fc.record({ app: anyText, user: anyText, value: anyValue }), 400);
    const set = fillSheet(samples);
    set.set(COUNTER, {}, 3);
    set.set(UNTYPED, {}, -1);
    const output = run('python3', ['-c', PYTHON_READER, format], render(set, format));
    const { samples: read, help }: PythonReading = JSON.parse(output.toString());
    const found = read.map(([name, labels, value]) => ({ name, labels, value: toNumber(value) }));
    expect(found.filter(({ name }) => name === 'crdb_size_bytes')).toEqual(
      expectedSamples(samples),
    );
    expect(found).toHaveLength(set.series);
    expect(help).toContain(GAUGE.help);
  });
});

function toNumber(python: string): number {
  return Number(python.replace('inf', 'Infinity'));
}

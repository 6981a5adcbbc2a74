import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  PageParser,
  array,
  integer,
  number,
  object,
  type ObjectShape,
  raw,
  record,
  string,
  time,
} from '../../src/json/index.ts';
import { generous, inPieces, readPieces } from './reading.ts';

const ROOT = path.join(import.meta.dirname, '..', '..');

test('the compiled scanner is what its source compiles to; `npm run scanner` writes it', () => {
  const manifest: { scripts: { scanner: string } } = JSON.parse(
    readFileSync(path.join(ROOT, 'package.json'), 'utf8'),
  );
  const folder = mkdtempSync(path.join(tmpdir(), 'crdb-exporter-scanner-'));
  try {
    const committed = 'src/json/scanner.wasm';
    const compiled = path.join(folder, 'scanner.wasm');
    const words = manifest.scripts.scanner.split(' ');
    expect(words).toContain(committed);
    const args = words.slice(1).map((word) => (word === committed ? compiled : word));
    const compiler = path.join(ROOT, 'node_modules', 'assemblyscript', 'bin', 'asc.js');
    const { status, stderr } = spawnSync(process.execPath, [compiler, ...args], { cwd: ROOT });
    expect([status, String(stderr)]).toEqual([0, '']);
    expect(readFileSync(compiled).equals(readFileSync(path.join(ROOT, committed)))).toBe(true);
  } finally {
    rmSync(folder, { recursive: true });
  }
}, 600_000);

const list = 'items';
const envelope = object({});

/** A decoder that collects copies of its elements. */
function collect(element: ObjectShape) {
  const elements: unknown[] = [];
  const onElement = (each: unknown): unknown => elements.push(structuredClone(each));
  return { decoder: new PageParser({ list, element, envelope, ...generous, onElement }), elements };
}

/** Its items take several times the bytes of its text, so the memory grows while it is read. */
function largeElement(items: number, seed: number) {
  const numbers = Array.from({ length: items }, (_, index) => seed + index / 8);
  return {
    before: seed + 0.1234567890123456,
    name: `“${seed}”`,
    all: numbers.map((n) => ({ n, s: `s${n}` })),
    byKey: Object.fromEntries(numbers.map((_, index) => [`k${index}`, index])),
    any: { numbers: numbers.slice(0, 3), text: '\u2028"' },
    at: '2026-01-19T17:02:22.5Z',
    after: -seed - 0.9876543210987654,
  };
}

function expectedOf(value: ReturnType<typeof largeElement>) {
  const byKey = new Map(Object.entries(value.byKey));
  return { ...value, byKey, at: 1_768_842_142_500 };
}

/** Maps as arrays, which JSON.stringify writes. */
function structuredPlain(value: unknown): unknown {
  return Object.fromEntries(
    Object.entries(value ?? {})
      .map(([name, each]) => [name, each instanceof Map ? [...each] : each] as const)
      .toSorted(([a], [b]) => a.localeCompare(b)),
  );
}

describe('memory', () => {
  const element = object({
    before: number(),
    name: string(),
    all: array(object({ n: number(), s: string() })),
    byKey: record(integer()),
    any: raw(),
    at: time(),
    after: number(),
  });

  test.each([700, 10_000_000])(
    'may grow in the middle of an element, in pieces of %i bytes',
    (size) => {
      const values = [1, 20_000, 3, 2, 50_000, 1].map(largeElement);
      const text = JSON.stringify({ items: values });
      const options = { list, element, envelope, maxElementBytes: 1e7, maxDepth: 8 };
      const reading = readPieces(inPieces(Buffer.from(text), size), options);
      expect(reading).toMatchObject({ elements: values.length, skipped: 0, wrongTypes: 0 });
      for (const [index, value] of values.entries()) {
        // Comparing whole documents of this size with `toEqual` takes seconds.
        expect(JSON.stringify(structuredPlain(reading.list[index]))).toBe(
          JSON.stringify(structuredPlain(expectedOf(value))),
        );
      }
    },
  );

  test('an element with more than 200,000 items is skipped and counted', () => {
    const many = `{"all":[${'{},'.repeat(200_000)}{}]}`;
    const text = Buffer.from(`{"items":[${many},{"before":1}]}`);
    const limits = { maxElementBytes: 1e8, maxDepth: 8 };
    const reading = readPieces([text], { list, element, envelope, ...limits });
    expect(reading).toMatchObject({ elements: 1, skipped: 1, wrongTypes: 0, tooLarge: 1 });
  });
});

describe('several documents at a time', () => {
  test('do not mix, however their chunks interleave', () => {
    const shapes = [
      object({ id: integer(), name: string() }),
      object({ id: integer(), name: string() }),
      object({ name: string(), rate: number(), tags: array(string()) }),
    ];
    const texts = shapes.map((_, which) => {
      const items = Array.from({ length: 300 }, (_each, id) => ({
        id: which * 1000 + id,
        name: `document ${which} é ${'x'.repeat(id % 50)}`,
        rate: id / 7,
        tags: [`t${which}`, `\\${id}`],
      }));
      return Buffer.from(JSON.stringify({ items, other: { items: [{ id: -1 }] } }));
    });
    const readers = shapes.map(collect);
    const chunks = texts.map((text, which) => inPieces(text, 97 + 61 * which));
    for (let left = readers.length; left > 0;) {
      left = 0;
      for (const [which, reader] of readers.entries()) {
        const { value, done } = chunks[which]?.next() ?? { done: true };
        if (done !== true && value instanceof Uint8Array) reader.decoder.write(value);
        if (done !== true) left += 1;
      }
    }
    for (const [which, { decoder, elements }] of readers.entries()) {
      expect(decoder.end()).toMatchObject({ elements: 300, skipped: 0, wrongTypes: 0 });
      const alone = readPieces([texts[which] ?? Buffer.alloc(0)], {
        list,
        element: shapes[which] ?? object({}),
        envelope,
      });
      expect(elements).toEqual(alone.list);
    }
  });
});

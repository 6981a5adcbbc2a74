import { inflateRawSync, constants } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { gauge } from '../../src/metrics/family.ts';
import { SampleSet } from '../../src/metrics/sample-set.ts';
import { renderFamilies, renderSnapshot } from '../../src/metrics/snapshot.ts';

const LARGE = gauge({ name: 'crdb_test_large', help: 'Large.', labels: ['id'] });
const SMALL = gauge({ name: 'crdb_test_small', help: 'Small.', labels: [] });

function fill<S extends SampleSet>(set: S, series: number): S {
  set.set(SMALL, {}, 1);
  for (let id = 0; id < series; id += 1) {
    set.set(LARGE, { id: `№ ${id}` }, id / 3);
  }
  return set;
}

function createSheet(series: number): SampleSet {
  return fill(new SampleSet({ crdb_cluster: 'größe' }), series);
}

/** Samples, and how many of them were read. */
class CountedSamples extends Map<string, number> {
  read = 0;

  override *[Symbol.iterator](): Generator<[string, number], undefined> {
    for (const sample of super.entries()) {
      this.read += 1;
      yield sample;
    }
  }
}

/** Renders families of this many series in slices without length: how many samples were read whenever other work could run. */
async function renderBetween(...series: readonly number[]): Promise<readonly number[]> {
  const families = series.map((count) => {
    const ids = Array.from({ length: count }, (_, id) => [`id="${id}"`, id] as const);
    return { family: LARGE, samples: new CountedSamples(ids) };
  });
  const seen = new Set<number>();
  let isOver = false;
  const look = (): void => {
    seen.add(families.reduce((sum, { samples }) => sum + samples.read, 0));
    if (!isOver) setImmediate(look);
  };
  setImmediate(look);
  await renderSnapshot(new SampleSet({}), families, 0);
  isOver = true;
  return [...seen];
}

describe('a snapshot', () => {
  it('has the same lines as a set rendered at once', async () => {
    const set = createSheet(1001);
    const { families, series } = await renderSnapshot(set);
    expect(series).toBe(1002);
    for (const { family, lines, series: own } of renderFamilies(set)) {
      const rendered = families.get(family.name);
      expect(rendered?.lines.equals(lines)).toBe(true);
      expect(rendered?.series).toBe(own);
    }
  });

  it('has large families compressed ahead, as a piece that does not end the stream', async () => {
    const { families } = await renderSnapshot(createSheet(1001));
    const large = families.get('crdb_test_large');
    const bytes = large?.deflated ?? Buffer.alloc(0);
    expect(bytes.subarray(-4)).toEqual(Buffer.from([0, 0, 0xff, 0xff]));
    const inflated = inflateRawSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH });
    expect(large?.lines.equals(inflated)).toBe(true);
    expect(families.get('crdb_test_small')?.deflated).toBeUndefined();
  });

  it('keeps no larger blocks of memory than its bytes need', async () => {
    const { families } = await renderSnapshot(createSheet(1001));
    const kept = [...families.values()].flatMap(({ lines, deflated }) =>
      [lines, deflated ?? []].flat(),
    );
    expect(kept).toHaveLength(3);
    for (const bytes of kept) {
      expect(bytes.buffer.byteLength).toBeLessThanOrEqual(2 * bytes.length);
    }
  });

  it('has only those families that are asked for', async () => {
    const set = createSheet(2);
    const chosen = [...set.families()].filter(({ family }) => family === SMALL);
    const { families, series } = await renderSnapshot(set, chosen);
    expect([[...families.keys()], series]).toEqual([['crdb_test_small'], 1]);
  });

  it('lets other work run after every 250 series, and between families', async () => {
    const every250 = Array.from({ length: 40 }, (_, index) => (index + 1) * 250);
    expect(await renderBetween(10_000)).toEqual(every250);
    expect(await renderBetween(1, 1, 300)).toEqual([1, 2, 252, 302]);
  });
});

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

/** Tells when one of its samples is read. */
class WatchedSamples extends Map<string, number> {
  readonly #onRead: () => void;

  constructor(samples: ReadonlyMap<string, number>, onRead: () => void) {
    super(samples);
    this.#onRead = onRead;
  }

  override *[Symbol.iterator](): MapIterator<[string, number]> {
    for (const sample of super[Symbol.iterator]()) {
      this.#onRead();
      yield sample;
    }
  }
}

/** In how many different turns of the event loop the samples are read; compression does not count. */
async function countTurnsWhileRendering(sliceMs: number): Promise<number> {
  let turn = 0;
  const turns = new Set<number>();
  class WatchedSheet extends SampleSet {
    override *families() {
      for (const { family, samples } of super.families()) {
        yield { family, samples: new WatchedSamples(samples, () => turns.add(turn)) };
      }
    }
  }
  const set = fill(new WatchedSheet({}), 100_000);
  let isOver = false;
  const next = (): void => {
    turn += 1;
    if (!isOver) setImmediate(next);
  };
  setImmediate(next);
  await renderSnapshot(set, undefined, sliceMs);
  isOver = true;
  return turns.size;
}

/** How often other callbacks of the event loop ran while the work was under way. */
async function countTurns(work: Promise<unknown>): Promise<number> {
  let turns = 0;
  let isOver = false;
  const turn = (): void => {
    turns += 1;
    if (!isOver) {
      setImmediate(turn);
    }
  };
  setImmediate(turn);
  await work;
  isOver = true;
  return turns;
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

  it('is frozen', async () => {
    const snapshot = await renderSnapshot(createSheet(1001));
    expect(Object.isFrozen(snapshot)).toBe(true);
    expect([...snapshot.families.values()].every((one) => Object.isFrozen(one))).toBe(true);
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

  it.each([
    [4_095, false],
    [4_096, true],
  ])('has a family of %i bytes compressed ahead: %s', async (bytes, isDeflated) => {
    const set = new SampleSet({});
    // 64 lines of 64 bytes at most.
    for (let row = 0; row < 64; row += 1) {
      const length = row === 0 ? 39 - (4_096 - bytes) : 39;
      set.set(LARGE, { id: String(row).padStart(length, '0') }, 1);
    }
    const large = (await renderSnapshot(set)).families.get('crdb_test_large');
    expect(large?.lines).toHaveLength(bytes);
    expect(large?.deflated !== undefined).toBe(isDeflated);
  });

  it('has only those families that are asked for', async () => {
    const set = createSheet(2);
    const chosen = [...set.families()].filter(({ family }) => family === SMALL);
    const { families, series } = await renderSnapshot(set, chosen);
    expect([[...families.keys()], series]).toEqual([['crdb_test_small'], 1]);
  });

  it('is empty for an empty set', async () => {
    const snapshot = await renderSnapshot(new SampleSet({}));
    expect(snapshot.series).toBe(0);
    expect([...snapshot.families]).toEqual([]);
  });

  it('of 100,000 series lets other work in between, after every slice', async () => {
    // One pause for each 250 samples with empty slices; none where a slice never ends.
    const turns = await countTurnsWhileRendering(0);
    expect(turns).toBeGreaterThan(390);
    expect(turns).toBeLessThan(410);
    expect(await countTurnsWhileRendering(3_600_000)).toBeLessThan(3);
  });

  it('pauses between small families too', async () => {
    const set = new SampleSet({});
    for (let index = 0; index < 50; index += 1) {
      set.set(gauge({ name: `crdb_test_${index}`, help: 'Small.', labels: [] }), {}, index);
    }
    expect(await countTurns(renderSnapshot(set, undefined, 0))).toBeGreaterThan(40);
  });
});

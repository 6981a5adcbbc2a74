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

  it('of 100,000 series lets other work in between, after every slice', async () => {
    // One pause for each 250 samples with empty slices.
    expect(await countTurns(renderSnapshot(createSheet(100_000), undefined, 0))).toBeGreaterThan(
      390,
    );
  });

  it('pauses between small families too', async () => {
    const set = new SampleSet({});
    for (let index = 0; index < 50; index += 1) {
      set.set(gauge({ name: `crdb_test_${index}`, help: 'Small.', labels: [] }), {}, index);
    }
    expect(await countTurns(renderSnapshot(set, undefined, 0))).toBeGreaterThan(40);
  });
});

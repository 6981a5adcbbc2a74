import { crc32, inflateRawSync, constants } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { gauge } from '../../src/metrics/family.ts';
import { Sheet } from '../../src/metrics/sheet.ts';
import { renderFamilies, renderSnapshot } from '../../src/metrics/snapshot.ts';

const LARGE = gauge({ name: 'crdb_test_large', help: 'Large.', labels: ['id'] });
const SMALL = gauge({ name: 'crdb_test_small', help: 'Small.', labels: [] });

function createSheet(series: number): Sheet {
  const sheet = new Sheet({ crdb_cluster: 'größe' });
  sheet.set(SMALL, {}, 1);
  for (let id = 0; id < series; id += 1) {
    sheet.set(LARGE, { id: `№ ${id}` }, id / 3);
  }
  return sheet;
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
  it('has the same lines as a sheet rendered at once', async () => {
    const sheet = createSheet(1001);
    const { families, series } = await renderSnapshot(sheet);
    expect(series).toBe(1002);
    for (const { family, lines, series: own } of renderFamilies(sheet)) {
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
    const bytes = large?.deflated?.bytes ?? Buffer.alloc(0);
    expect(bytes.subarray(-4)).toEqual(Buffer.from([0, 0, 0xff, 0xff]));
    const inflated = inflateRawSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH });
    expect(large?.lines.equals(inflated)).toBe(true);
    expect(large?.deflated?.crc).toBe(crc32(inflated));
    expect(families.get('crdb_test_small')?.deflated).toBeUndefined();
  });

  it('is empty for an empty sheet', async () => {
    const snapshot = await renderSnapshot(new Sheet({}));
    expect(snapshot.series).toBe(0);
    expect([...snapshot.families]).toEqual([]);
  });

  it('of 100,000 series lets other work in between, after every slice', async () => {
    const sheet = createSheet(100_000);
    const few = await countTurns(renderSnapshot(sheet, { sliceMs: 3_600_000 }));
    const many = await countTurns(renderSnapshot(sheet, { sliceMs: 0 }));
    // One pause for each 250 samples; without pauses only compression leaves room.
    expect(many).toBeGreaterThan(390);
    expect(few).toBeLessThan(many);
  });

  it('pauses between small families too', async () => {
    const sheet = new Sheet({});
    for (let index = 0; index < 50; index += 1) {
      sheet.set(gauge({ name: `crdb_test_${index}`, help: 'Small.', labels: [] }), {}, index);
    }
    expect(await countTurns(renderSnapshot(sheet, { sliceMs: 0 }))).toBeGreaterThan(40);
  });
});

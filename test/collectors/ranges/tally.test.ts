import { expect, test } from 'vitest';
import { HotCandidates, HotList } from '../../../src/collectors/ranges/hot-ranges.ts';
import { Places } from '../../../src/collectors/ranges/known-ranges.ts';
import { ProblemHistory, ProblemReports } from '../../../src/collectors/ranges/problem-ranges.ts';
import { type Range, rangeShape } from '../../../src/collectors/ranges/range.ts';
import { PlaceLoads } from '../../../src/collectors/ranges/table-load.ts';
import { NodeTally } from '../../../src/collectors/ranges/tally.ts';
import { decodeValue } from '../../../src/json/decoder.ts';
import { replica } from './cluster.ts';

function tallyOf(before?: NodeTally): NodeTally {
  const lists = {
    hot: new HotCandidates(1, new HotList()),
    problems: new ProblemReports(new ProblemHistory()),
    tables: new PlaceLoads(),
  };
  return new NodeTally(1, () => true, lists, new Places(), before?.node.stores);
}

function elementOf(rangeId: number, storeId: number): Range {
  const element = replica({ rangeId, nodeId: 1, storeId });
  return decodeValue(Buffer.from(JSON.stringify(element)), rangeShape).value;
}

test('a store has room at once for 5 % more replicas than when it was last read', () => {
  const before = tallyOf();
  for (let rangeId = 1; rangeId <= 1_000; rangeId += 1) before.count(elementOf(rangeId, 1));
  const tally = tallyOf(before);
  for (const storeId of [1, 2]) tally.count(elementOf(1, storeId));
  const slots = Array.from(tally.stores.values(), ({ staged }) => staged.capacity);
  expect(slots).toEqual([Math.ceil(1_050 / 0.88), 32]);
});

import { beforeAll, describe, expect, test } from 'vitest';
import { hasProgram } from '../support/programs.ts';
import { measureLastingSlowness } from '../support/slowness.ts';
import {
  calmCluster,
  emptyWithoutReason,
  type FilledPanel,
  queryPanels,
} from './cluster-panels.ts';

const MAX_SERIES = 100;
const NODES = 110;
/** Lists that a person sorts and scrolls. */
const LISTS = ['CockroachDB / Nodes / Nodes'];

describe.skipIf(!hasProgram('prometheus'))(`the panels of a cluster of ${NODES} nodes`, () => {
  let panels: readonly FilledPanel[];

  beforeAll(async () => {
    // An interval has time for the scrapes of this many nodes, and four of them for the polls.
    const pace = Math.ceil((await measureLastingSlowness()) / 2);
    panels = await queryPanels({
      size: { ...calmCluster(NODES), ranges: 300, sessions: 300 },
      intervalSeconds: 3 * pace,
      pollSeconds: 12 * pace,
      seconds: 6 * pace,
    });
  }, 600_000);

  test(`draw at most ${MAX_SERIES} series, except in lists of all nodes`, () => {
    const tooMany = panels.filter(({ series }) => series.some((count) => count > MAX_SERIES));
    expect(tooMany.map(({ title }) => title)).toEqual(LISTS);
  });

  test('are filled, or empty for a reason that they state', () => {
    expect(emptyWithoutReason(panels)).toEqual([]);
    const empty = panels.filter(({ series }) => series.every((count) => count === 0));
    expect(empty.length).toBeLessThan(panels.length / 4);
  });
});

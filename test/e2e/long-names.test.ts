import { expect, test } from 'vitest';
import { PROCESS_TIMEOUT_MS } from '../cli/run.ts';
import { endure, listOf, startFlood } from './flood.ts';

const MAX_PEAK_MIB = 300;
/** Neither the names of nodes nor those of sessions fit, nor the ids of all pages. */
const heapMiB = 64;
const LONG = 'x'.repeat(1_000_000);
const HALF = 'é'.repeat(250_000);
const PAGES = 8;

/** Application and user names of a megabyte. */
const NAMES = {
  '/sessions/': () =>
    listOf('sessions', 60, (at) =>
      JSON.stringify({
        node_id: 1,
        username: `${at}${HALF}`,
        application_name: `${at}${LONG}`,
      }),
    ),
};

/** Builds, addresses and localities of a megabyte. */
const NODES = {
  '/nodes/': () =>
    listOf('nodes', 100, (at) =>
      JSON.stringify({
        node_id: at + 1,
        liveness_status: 3,
        build_tag: HALF,
        address: { address_field: HALF },
        locality: { tiers: [{ key: 'region', value: HALF }] },
      }),
    ),
};

/** Pages with an id of ten megabytes each. */
function idPages() {
  let pages = 0;
  return {
    '/sessions/': () => {
      pages += 1;
      const id = `${pages}${'x'.repeat(10_000_000)}`;
      const next = pages < PAGES ? `,"next":"page${pages}"` : '';
      return [`{"sessions":[{"node_id":1,"id":"${id}"}]${next}}`];
    },
  };
}

test(
  'names of a megabyte are cut, also with rewrites, and ids are forgotten',
  { timeout: PROCESS_TIMEOUT_MS },
  async () => {
    await using ofNames = await startFlood(NAMES);
    await using ofNodes = await startFlood(NODES);
    await using ofIds = await startFlood(idPages());
    const options = { application_rewrite: [{ regex: '^pid-', replacement: 'pid' }] };
    const { scrape, peakMiB } = await endure(
      {
        names: { collector: 'sessions', server: ofNames, options },
        nodes: { collector: 'nodes', server: ofNodes },
        ids: { collector: 'sessions', server: ofIds },
      },
      { heapMiB },
    );
    const idle = (crdb_cluster: string) =>
      scrape.value('crdb_sessions', { crdb_cluster, state: 'idle' });
    expect(idle('names')).toBe(60);
    const listed = scrape.all('crdb_application_sessions', {
      crdb_cluster: 'names',
      state: 'idle',
    })[1];
    const application = listed?.labels['application'] ?? '';
    expect(application).toMatch(/^\d+x+$/);
    expect(application).toHaveLength(128);
    expect(scrape.value('crdb_nodes', { status: 'live' })).toBe(100);
    expect(idle('ids')).toBe(PAGES);
    expect(peakMiB).toBeLessThan(MAX_PEAK_MIB);
  },
);

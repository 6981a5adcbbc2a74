import { expect, test } from 'vitest';
import { PROCESS_TIMEOUT_MS } from '../cli/run.ts';
import { endure, listOf, startFlood } from './flood.ts';

const MAX_PEAK_MIB = 400;
/** The names of an answer do not fit. */
const heapMiB = 128;
const LONG = 'x'.repeat(1_000_000);
const HALF = 'é'.repeat(250_000);

test(
  'application and user names of a megabyte are cut, also with rewrites',
  { timeout: PROCESS_TIMEOUT_MS },
  async () => {
    await using server = await startFlood({
      '/sessions/': () =>
        listOf('sessions', 120, (at) =>
          JSON.stringify({
            node_id: 1,
            username: `${at}${HALF}`,
            application_name: `${at}${LONG}`,
          }),
        ),
    });
    const application_rewrite = [{ regex: '^pid-', replacement: 'pid' }];
    const { scrape, peakMiB } = await endure('sessions', server, { heapMiB, application_rewrite });
    expect(scrape.value('crdb_sessions', { state: 'idle' })).toBe(120);
    const listed = scrape.all('crdb_application_sessions', { state: 'idle' })[1];
    const application = listed?.labels['application'] ?? '';
    expect(application).toMatch(/^\d+x+$/);
    expect(application).toHaveLength(128);
    expect(peakMiB).toBeLessThan(MAX_PEAK_MIB);
  },
);

test(
  'builds, addresses and localities of nodes of a megabyte are cut',
  { timeout: PROCESS_TIMEOUT_MS },
  async () => {
    await using server = await startFlood({
      '/nodes/': () =>
        listOf('nodes', 200, (at) =>
          JSON.stringify({
            node_id: at + 1,
            liveness_status: 3,
            build_tag: HALF,
            address: { address_field: HALF },
            locality: { tiers: [{ key: 'region', value: HALF }] },
          }),
        ),
    });
    const { scrape, peakMiB } = await endure('nodes', server, { heapMiB });
    expect(scrape.value('crdb_nodes', { status: 'live' })).toBe(200);
    expect(peakMiB).toBeLessThan(MAX_PEAK_MIB);
  },
);

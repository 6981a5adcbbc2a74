import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startSimulator, type Simulator } from '../../src/simulator/index.ts';
import { ask, clusterClient } from './client.ts';

interface TablesBody {
  readonly results:
    | readonly {
        readonly table_id: number;
        readonly table_name: string;
        readonly replication_size_bytes: number;
        readonly store_ids: readonly number[] | null;
        readonly last_updated: string;
      }[]
    | null;
  readonly pagination_info: {
    readonly total_results: number;
    readonly page_size: number;
    readonly page_num: number;
  };
}

const START_MS = 1_800_000_000_000;

describe('GET /table_metadata/', () => {
  let simulator: Simulator;
  let client: Awaited<ReturnType<typeof clusterClient>>;
  let nowMs = START_MS;

  beforeAll(async () => {
    simulator = await startSimulator({
      metricKeys: 'useful',
      extraTables: 20,
      users: [{ name: 'blind', password: 'x', privileges: ['VIEWCLUSTERMETADATA'] }],
      now: () => nowMs,
    });
    client = await clusterClient(simulator);
  });
  afterAll(() => simulator.close());

  async function list(query: string): Promise<TablesBody> {
    return (await client<TablesBody>(`/table_metadata/${query}`)).json();
  }

  it('counts nothing on an empty page, whose results are null', async () => {
    expect(await list('?pageNum=9')).toEqual({
      results: null,
      pagination_info: { total_results: 0, page_size: 10, page_num: 9 },
    });
  });

  it('sorts by size, ties by id, and ignores unknown keys', async () => {
    const { results } = await list('?pageSize=27&sortBy=replicationSize&sortOrder=desc');
    const sizes = results?.map((table) => table.replication_size_bytes) ?? [];
    expect(sizes).toEqual(sizes.toSorted((a, b) => b - a));
    const byId = (await list('?pageSize=27&sortBy=nothing')).results?.map(
      (table) => table.table_id,
    );
    expect(byId).toEqual(byId?.toSorted((a, b) => a - b));
  });

  it('filters by a part of the name and by store', async () => {
    expect((await list('?name=ride')).results?.map((table) => table.table_name)).toEqual([
      'rides',
      'daily_rides',
    ]);
    const { results } = await list('?pageSize=27&storeId=1');
    expect(results?.every((table) => table.store_ids?.includes(1))).toBe(true);
  });

  it('refuses what is no integer, and other methods', async () => {
    expect((await client('/table_metadata/?pageNum=x')).status).toBe(422);
    expect((await client('/table_metadata/', { method: 'POST' })).status).toBe(405);
    expect((await ask(`${simulator.clusterUrl}/api/v2/table_metadata/`)).status).toBe(401);
  });
});

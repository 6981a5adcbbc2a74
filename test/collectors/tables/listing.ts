import { RequestError } from '../../../src/cockroach/http/errors.ts';
import { tables, type TablesResult } from '../../../src/collectors/tables/collector.ts';
import { type Answer, answering, poll, type Polled } from '../support.ts';

export const UPDATED_MS = Date.UTC(2026, 0, 2, 3, 4, 0);
const OPTIONS = { tables: [], discover: 'auto', max_tables: 50 } as const;

type Options = Parameters<typeof tables.collect>[1]['options'];

interface Discovered extends Polled {
  readonly result: TablesResult;
  readonly requests: readonly string[];
}

/** A table as the server lists it. */
export function rowOf(id: number, more: object = {}): object {
  return {
    db_id: 104,
    db_name: 'movr',
    table_id: id,
    schema_name: 'public',
    table_name: `t${id}`,
    replication_size_bytes: 30 * id,
    range_count: id,
    column_count: 3,
    index_count: 2,
    percent_live_data: 0.5,
    total_live_data_bytes: 5 * id,
    total_data_bytes: 10 * id,
    store_ids: null,
    last_updated: new Date(UPDATED_MS - id * 1000).toISOString(),
    ...more,
  };
}

export function pageOf(results: readonly object[] | null, total = results?.length ?? 0): object {
  return { results, pagination_info: { total_results: total, page_size: 500, page_num: 1 } };
}

/** Polls once, with discovery unless told otherwise. */
export async function discover(
  answer: Answer,
  given: Partial<Options> = {},
  namedTables: readonly string[] = [],
): Promise<Discovered> {
  const { api, requests } = answering(answer);
  const options = { ...OPTIONS, ...given };
  return {
    ...(await poll(tables, api, { options, state: undefined, namedTables })),
    requests,
  };
}

/** The list of tables fails, the details of tables do not. */
export function failing(reason: 'not_available' | 'forbidden' | 'http'): Answer {
  return (path) => {
    if (path.startsWith('/table_metadata/')) throw new RequestError(reason, `${reason} at x`);
    return { descriptor_id: 1, range_count: 7, columns: [{}], zone_config: {} };
  };
}

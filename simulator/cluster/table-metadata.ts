import { jsonAnswer, type Answer, textAnswer, unknownPath } from '../http/answer.ts';
import type { Account } from '../options.ts';
import { hashOf } from '../random.ts';
import { encodeJson, timeText } from '../wire/encoding.ts';
import { sizesOf } from '../world/table-sizes.ts';
import { goInteger } from './page.ts';
import { hasPrivilege, type ClusterRequest, type ClusterServer } from './request.ts';

type TableSize = ReturnType<typeof sizesOf>[number];

const DEFAULT_PAGE_SIZE = 10;

/** By the value of `sortBy`; unknown ones are ignored, and ties are broken by id. */
const SORT_KEYS: Readonly<Record<string, (size: TableSize) => number | string>> = {
  name: ({ table }) => table.name,
  replicationSize: ({ replicatedBytes }) => replicatedBytes,
  ranges: ({ ranges }) => ranges,
  liveData: ({ liveBytes, dataBytes }) => liveBytes / dataBytes,
  columns: ({ table }) => table.columns.length,
  indexes: ({ table }) => table.indexes.length,
};

/** GET /table_metadata/: a page of the cached list of the tables that the caller may see. */
export function listTables(
  server: ClusterServer,
  request: ClusterRequest,
  caller: Account,
): Answer {
  const { quirks, world } = server;
  if (!quirks.tableMetadata) return unknownPath();
  if (request.method !== 'GET') return textAnswer(405, 'Method not allowed');
  const { query } = request;
  const numbers = ['pageNum', 'pageSize', 'dbId', 'storeId'].flatMap((key) => query.getAll(key));
  const isWrong = numbers.some((text) => goInteger(text) === undefined);
  if (isWrong) return textAnswer(422, 'invalid query parameter');
  const pageNumber = goInteger(query.get('pageNum')) || 1;
  const pageSize = goInteger(query.get('pageSize')) || DEFAULT_PAGE_SIZE;
  const updatedMs = world.state.now() - quirks.tableCacheAgeMs;
  const visible = hasPrivilege(caller, 'CONNECT') ? sizesOf(world.state, updatedMs) : [];
  const wanted = visible.filter((size) => isWanted(size, query));
  const page = sortTables(wanted, query).slice((pageNumber - 1) * pageSize, pageNumber * pageSize);
  const body = {
    results: page.length === 0 ? null : page.map((size) => tableMember(size, updatedMs)),
    pagination_info: {
      // The query counts beside the rows of the page: without a row there is no count.
      total_results: page.length === 0 ? 0 : wanted.length,
      page_size: pageSize,
      page_num: pageNumber,
    },
  };
  return jsonAnswer(200, encodeJson(body));
}

function isWanted({ table, storeIds }: TableSize, query: URLSearchParams): boolean {
  const stores = query.getAll('storeId').map(Number);
  const database = query.get('dbId');
  return (
    table.name.includes(query.get('name') ?? '') &&
    (database === null || databaseId(table.database) === Number(database)) &&
    (stores.length === 0 || stores.some((id) => storeIds.includes(id)))
  );
}

function sortTables(sizes: readonly TableSize[], query: URLSearchParams): readonly TableSize[] {
  const key = SORT_KEYS[query.get('sortBy') ?? ''] ?? (() => 0);
  const sign = query.get('sortOrder') === 'desc' ? -1 : 1;
  return sizes.toSorted((a, b) => {
    const [first, second] = [key(a), key(b)];
    if (first === second) return a.table.id - b.table.id;
    return first < second ? -sign : sign;
  });
}

function tableMember(size: TableSize, updatedMs: number): object {
  const { table, ranges, storeIds, dataBytes, liveBytes, replicatedBytes } = size;
  return {
    db_id: databaseId(table.database),
    db_name: table.database,
    table_id: table.id,
    schema_name: table.schema,
    table_name: table.name,
    replication_size_bytes: replicatedBytes,
    range_count: ranges,
    column_count: table.columns.length,
    index_count: table.indexes.length,
    percent_live_data: liveBytes / dataBytes,
    total_live_data_bytes: liveBytes,
    total_data_bytes: dataBytes,
    store_ids: storeIds.length === 0 ? null : storeIds,
    last_updated: timeText(updatedMs),
  };
}

function databaseId(name: string): number {
  return hashOf('database', name) % 10_000;
}

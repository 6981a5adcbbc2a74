import { discoverTables } from '../collectors/tables/discovery.ts';
import { formatTableName } from '../collectors/tables/table.ts';
import { RequestError } from '../http/errors.ts';
import { type ClusterTarget, clusterApiOf } from './cluster-target.ts';

/** `movr.public.rides` by table id; empty where the server lists no tables, or not for this user. */
export async function readTableNames(target: ClusterTarget): Promise<ReadonlyMap<string, string>> {
  try {
    const tables = await discoverTables(clusterApiOf(target), target.stats);
    return new Map(tables.map((table) => [table.tableId, formatTableName(table)]));
  } catch (error) {
    // Names are an addition: what needs them fails by its own requests, or not at all.
    if (error instanceof RequestError) return new Map();
    throw error;
  }
}

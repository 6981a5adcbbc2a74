import { formatCounted } from '../../src/base/format.ts';
import type { Scrape } from '../../test/support/exporter.ts';
import { probe } from './exporter.ts';
import { type Access, LiveServer, type Row } from './server.ts';

/** What the exporter and the server say of one thing. */
export interface Comparison {
  readonly what: string;
  readonly verdict: 'same' | 'differs' | 'not compared';
  readonly detail: string;
}

/** Numbers by the name of what they are about: `node 1, store 2`. */
type Figures = ReadonlyMap<string, number>;

/** What the server says, by SQL and by the metrics of its nodes; undefined where it does not tell. */
export type ServerFigures = ReadonlyMap<string, Figures | undefined>;

interface Reader {
  /** Of the server. */
  readonly server: (server: LiveServer) => Promise<Figures | undefined>;
  /** Of the exporter. */
  readonly exporter: (scrape: Scrape) => Figures;
  /** By how much they may differ, as what is counted changes: a share, or a number if that is more. */
  readonly share?: number;
  readonly least?: number;
  /** Only what both name is compared: of nodes without a URL nothing is known. */
  readonly isPart?: true;
}

const IS_ROLE = '"isRole"';

const READERS: Readonly<Record<string, Reader>> = {
  'live nodes': bySql(
    'SELECT node_id, is_live FROM crdb_internal.gossip_nodes',
    (row) => [`node ${row['node_id']}`, Number(row['is_live'])],
    (scrape) =>
      new Map(
        // SQL does not tell these apart.
        ['live', 'draining', 'decommissioning'].flatMap((status) => [
          ...figures(scrape, 'crdb_node_liveness', ['node_id'], { status }),
        ]),
      ),
  ),
  ranges: bySql(
    'SELECT count(*) AS ranges FROM crdb_internal.ranges_no_leases',
    (row) => ['all', Number(row['ranges'])],
    (scrape) => total(scrape, 'crdb_ranges'),
    { share: 0.01, least: 2 },
  ),
  // Those on live nodes: the exporter counts the replicas that it sees.
  'ranges by replicas': bySql(
    `SELECT replicas, count(*) AS ranges FROM (
       SELECT range_id, count(*) AS replicas FROM (
         SELECT range_id, unnest(replicas) AS store_id FROM crdb_internal.ranges_no_leases
       ) WHERE store_id IN (
         SELECT s.store_id FROM crdb_internal.kv_store_status AS s
         JOIN crdb_internal.gossip_nodes AS n ON n.node_id = s.node_id WHERE n.is_live
       ) GROUP BY range_id
     ) GROUP BY replicas`,
    (row) => [`${row['replicas']} replicas`, Number(row['ranges'])],
    (scrape) => figures(scrape, 'crdb_ranges_by_replicas', ['replicas'], {}, 'replicas'),
    { share: 0.01, least: 2 },
  ),
  'ranges that a node holds': byVars('replicas', 'crdb_range_replicas', { share: 0.01, least: 2 }),
  voters: bySql(
    'SELECT range_id, array_length(voting_replicas, 1) AS voters FROM crdb_internal.ranges_no_leases WHERE range_id <= 20',
    (row) => [`range ${row['range_id']}`, Number(row['voters'])],
    (scrape) => figures(scrape, 'voters_of_range', ['range']),
  ),
  'leases of a node': byVars('replicas_leaseholders', 'crdb_range_leases', {
    share: 0.1,
    least: 3,
  }),
  'capacity of stores': byVars('capacity', 'crdb_store_capacity_bytes', { share: 0.001 }),
  'SQL connections': byNodeVars('sql_conns', 'crdb_node_sql_connections', { share: 0.2, least: 5 }),
  'SQL statements': byNodeVars('sql_query_count', 'crdb_node_sql_queries_total', {
    share: 0.02,
    least: 500,
  }),
  sessions: bySql(
    "SELECT count(*) AS sessions FROM crdb_internal.cluster_sessions WHERE status <> 'CLOSED' AND application_name NOT LIKE '$ internal%'",
    (row) => ['all', Number(row['sessions'])],
    (scrape) => total(scrape, 'crdb_user_sessions'),
    { share: 0.1, least: 5 },
  ),
  users: bySql(
    `SELECT count(*) AS users FROM system.users WHERE NOT ${IS_ROLE}`,
    (row) => ['all', Number(row['users'])],
    (scrape) => total(scrape, 'crdb_users'),
  ),
  tables: bySql(
    'SELECT db_name, count(*) AS tables FROM system.table_metadata GROUP BY 1',
    (row) => [`database ${row['db_name']}`, Number(row['tables'])],
    (scrape) => figures(scrape, 'crdb_tables', ['database']),
  ),
  // Jobs that are being rolled back run, too. SHOW JOBS lists those of the last 12 hours, and all that have not ended.
  jobs: bySql(
    `SELECT replace(replace(lower(job_type), 'new ', ''), ' ', '_') AS job_type,
       CASE status WHEN 'paused' THEN 'paused' ELSE 'running' END AS state, count(*) AS jobs
     FROM [SHOW JOBS] WHERE status IN ('running', 'reverting', 'paused') AND job_type IN ('BACKUP', 'CHANGEFEED', 'IMPORT',
       'RESTORE', 'ROW LEVEL TTL', 'SCHEMA CHANGE', 'NEW SCHEMA CHANGE', 'LOGICAL REPLICATION', 'INSPECT') GROUP BY 1, 2`,
    (row) => [`${row['job_type']} ${row['state']}`, Number(row['jobs'])],
    (scrape) =>
      new Map(
        ['running', 'paused'].flatMap((state) =>
          scrape
            .all('crdb_jobs', { state })
            .filter(({ value }) => value !== 0)
            .map(({ labels, value }) => [`${labels['job_type']} ${state}`, value] as const),
        ),
      ),
  ),
};

/** Asks the server, polls with the exporter, asks the server again, and compares. */
export async function compareOnce(access: Access, main?: string): Promise<readonly Comparison[]> {
  const server = new LiveServer(access);
  const before = await askServer(server);
  const scrape = await probe(access, main);
  return compare(scrape, before, await askServer(server));
}

/** Asks the server for everything that can be compared. */
export async function askServer(server: LiveServer): Promise<ServerFigures> {
  const figuresOf = new Map<string, Figures | undefined>();
  for (const [what, reader] of Object.entries(READERS)) {
    figuresOf.set(what, await reader.server(server));
  }
  return figuresOf;
}

/** Compares what the exporter says with what the server said before and after. */
export function compare(
  scrape: Scrape,
  before: ServerFigures,
  after: ServerFigures,
): readonly Comparison[] {
  return Object.entries(READERS).map(([what, reader]): Comparison => {
    const [first, last] = [before.get(what), after.get(what)];
    if (first === undefined || last === undefined) {
      return { what, verdict: 'not compared', detail: 'the server does not tell' };
    }
    const found = reader.exporter(scrape);
    const named = new Set([
      ...first.keys(),
      ...last.keys(),
      ...(reader.isPart ? [] : found.keys()),
    ]);
    const wrong = [...named].flatMap((key) => {
      const bounds = [first.get(key) ?? 0, last.get(key) ?? 0];
      const value = found.get(key) ?? 0;
      const slack = Math.max(reader.least ?? 0, (reader.share ?? 0) * Math.max(...bounds));
      const isSame = value >= Math.min(...bounds) - slack && value <= Math.max(...bounds) + slack;
      return isSame
        ? []
        : [`${key}: the exporter says ${value}, the server ${bounds.join(' to ')}`];
    });
    if (wrong.length > 0) return { what, verdict: 'differs', detail: wrong.join('; ') };
    return { what, verdict: 'same', detail: formatCounted(named.size, 'figure') };
  });
}

function bySql(
  sql: string,
  read: (row: Row) => readonly [string, number],
  exporter: Reader['exporter'],
  more: Pick<Reader, 'share' | 'least'> = {},
): Reader {
  return {
    async server(server) {
      const rows = await server.query(sql);
      return rows && new Map(rows.map(read));
    },
    exporter,
    ...more,
  };
}

/** A metric of the stores of the nodes that have a URL. */
function byVars(name: string, family: string, more: Pick<Reader, 'share' | 'least'>): Reader {
  return {
    async server(server) {
      const nodes = await server.vars();
      const stores = [...nodes.values()].flatMap((values) =>
        [...values].flatMap(([key, value]) => {
          const [, store] = new RegExp(`^${name}\\{store="(\\d+)"\\}$`).exec(key) ?? [];
          return store === undefined ? [] : [[`store ${store}`, value] as const];
        }),
      );
      return stores.length === 0 ? undefined : new Map(stores);
    },
    exporter: (scrape) => figures(scrape, family, ['store_id']),
    isPart: true,
    ...more,
  };
}

function byNodeVars(name: string, family: string, more: Pick<Reader, 'share' | 'least'>): Reader {
  return {
    async server(server) {
      const nodes = [...(await server.vars())].flatMap(([id, values]) => {
        const value = values.get(name);
        return value === undefined ? [] : [[`node ${id}`, value] as const];
      });
      return nodes.length === 0 ? undefined : new Map(nodes);
    },
    exporter: (scrape) => figures(scrape, family, ['node_id']),
    isPart: true,
    ...more,
  };
}

const WORDS: Readonly<Record<string, string>> = {
  node_id: 'node',
  store_id: 'store',
  database: 'database',
};

/** The samples of a family that are not 0, by one label. */
function figures(
  scrape: Scrape,
  family: string,
  [label]: readonly [string],
  labels: Readonly<Record<string, string>> = {},
  unit?: string,
): Figures {
  const samples = scrape.all(family, labels).filter(({ value }) => value !== 0);
  return new Map(
    samples.map(({ labels: { [label]: text = '' }, value }) => [
      unit === undefined ? `${WORDS[label] ?? label} ${text}` : `${text} ${unit}`,
      value,
    ]),
  );
}

function total(
  scrape: Scrape,
  family: string,
  labels: Readonly<Record<string, string>> = {},
): Figures {
  const samples = scrape.all(family, labels);
  if (samples.length === 0) return new Map();
  return new Map([['all', samples.reduce((sum, { value }) => sum + value, 0)]]);
}

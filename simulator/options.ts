import type { LoggedRequest } from './http/request-log.ts';
import type { Dialect, Quirks } from './quirks.ts';
import type { Release } from './releases.ts';

export interface Listen {
  readonly host: string;
  readonly port: number;
}

export type Privilege =
  | 'VIEWCLUSTERMETADATA'
  | 'VIEWACTIVITY'
  | 'VIEWACTIVITYREDACTED'
  | 'VIEWJOB'
  | 'VIEWCLUSTERSETTING'
  | 'SELECT_USERS'
  /** SELECT on the other tables of the database system. */
  | 'SELECT_SYSTEM'
  /** CONNECT on all databases. */
  | 'CONNECT';

/** A SQL user; without a password nobody can log in as that user. */
export interface Account {
  readonly name: string;
  readonly password?: string;
  readonly admin?: boolean;
  readonly privileges?: readonly Privilege[];
}

/** The result of the statements that contain a text: the simulator executes no SQL. */
export interface SqlResult {
  readonly contains: string;
  /** What the user needs: a system privilege, or SELECT on the relation. */
  readonly privilege?: Privilege;
  readonly relation?: string;
  /** Names and SQL types. */
  readonly columns: readonly (readonly [name: string, type: string])[];
  readonly rows: readonly (readonly unknown[])[];
  /** Time that it takes. */
  readonly delayMs?: number;
}

/** The survival goal of a multi-region database. */
export type Survival = 'zone' | 'region';

export interface SimulatorOptions {
  readonly seed: number;
  readonly nodes: number;
  readonly ranges: number;
  readonly sessions: number;
  /**
   * Members beside the nodes that died more than a year before the start and hold nothing, with the ids that follow: the
   * first, third, … were being decommissioned (status 5), the others are dead (status 1).
   */
  readonly relics: number;
  /** The relics have addresses of nodes, which returned there with a new id. */
  readonly relicsAtNodes: boolean;
  /** After region and zone a tier `dns` of its own for each node, as in CockroachDB Cloud. */
  readonly nodeTier: boolean;
  /** 1 or 2 by seed when undefined. */
  readonly storesPerNode: number | undefined;
  readonly clusterName: string;
  readonly replication: number;
  /**
   * Tables and databases that are multi-region, by name. `zone`: 3 voters in the home region, the first one, and a
   * non-voter in each other region; `region`: 5 voters, 2 of them in the home region.
   */
  readonly survival: Readonly<Record<string, Survival>>;
  /** Tables without ranges of their own, in addition to the usual ones. */
  readonly extraTables: number;
  /** The release of all nodes, with its leases; without it nodes of 25.4 that have leases of every kind. */
  readonly release: Release | undefined;
  readonly metricKeys: 'full' | 'useful';
  readonly dialect: Dialect;
  readonly quirks: Partial<Quirks>;
  readonly scenario: 'calm' | 'incident';
  /**
   * A dead and a draining node, one that died while it was decommissioned, mixed builds, ranges and replicas with problems, and old
   * transactions. Default: true, but false when a scenario is given.
   */
  readonly faultyNodes: boolean;
  /** Application names that need escaping or cutting. Default: as `faultyNodes`. */
  readonly unusualNames: boolean;
  readonly listen: Listen;
  readonly cloudListen: Listen;
  /** Off when undefined. */
  readonly controlListen: Listen | undefined;
  /** The number of nodes, counted from the first, that have their own listener. */
  readonly gateways: number;
  /**
   * The id of the virtual cluster that holds the tables, as in a cluster started with --virtualized; requests then choose
   * a virtual cluster (see the quirk `defaultVirtualCluster`). Undefined without virtual clusters.
   */
  readonly virtualCluster: number | undefined;
  /** A cluster started with --insecure: no login, everything runs as root. */
  readonly insecure: boolean;
  /** PEM texts; with them the cluster API uses https and redirects plain http with 307. */
  readonly tls: { readonly key: string; readonly cert: string } | undefined;
  readonly username: string;
  readonly password: string;
  /** Accounts in addition to the exporter's and the built-in ones. */
  readonly users: readonly Account[];
  readonly sessionTimeoutMs: number;
  /** Nodes keep the history of leases through a restart; real ones have it in memory only. */
  readonly keepsLeaseHistory: boolean;
  /** The world's clock in milliseconds. */
  readonly now: () => number;
  /** The clock of the header Date, which runs also where that of the world stands still. Default: as `now`. */
  readonly headerNow: (() => number) | undefined;
  /** Results of SQL statements in addition to the built-in ones, and before them. */
  readonly sqlResults: readonly SqlResult[];
  /** Called with each request before it is answered: the world may change here, as between two requests of a scan. */
  readonly requestBegan: (request: LoggedRequest) => void;
  /** Counters, records and sessions do not change. */
  readonly frozen: boolean;
  /** server.time_after_store_suspect: a node that crashed reads live, one that came back unavailable, for this long. */
  readonly suspectMs: number;
  /** server.time_until_store_dead. */
  readonly deadMs: number;
  /** Speed of the incident scenario, of the migration assistant, and of the liveness of crashed and started nodes. */
  readonly timeScale: number;
}

const LOOPBACK: Listen = { host: '127.0.0.1', port: 0 };

const DEFAULTS: SimulatorOptions = {
  seed: 1,
  nodes: 9,
  ranges: 600,
  sessions: 120,
  relics: 0,
  relicsAtNodes: false,
  nodeTier: false,
  storesPerNode: undefined,
  clusterName: 'simulated',
  replication: 3,
  survival: {},
  extraTables: 0,
  release: undefined,
  metricKeys: 'full',
  dialect: 'real',
  quirks: {},
  scenario: 'calm',
  faultyNodes: true,
  unusualNames: true,
  listen: LOOPBACK,
  cloudListen: LOOPBACK,
  controlListen: undefined,
  gateways: 1,
  virtualCluster: undefined,
  insecure: false,
  tls: undefined,
  username: 'exporter',
  password: 'exporter-demo',
  users: [],
  sessionTimeoutMs: 168 * 3_600_000,
  keepsLeaseHistory: false,
  now: Date.now,
  headerNow: undefined,
  sqlResults: [],
  requestBegan: () => undefined,
  frozen: false,
  suspectMs: 30_000,
  deadMs: 300_000,
  timeScale: 1,
};

/** All options with their defaults. Throws RangeError for an invalid number. */
export function resolveOptions(given: Partial<SimulatorOptions>): SimulatorOptions {
  const { faultyNodes = given.scenario === undefined } = given;
  const options = { ...DEFAULTS, faultyNodes, unusualNames: faultyNodes, ...given };
  requireAtLeast('nodes', options.nodes, 1);
  requireAtLeast('ranges', options.ranges, 1);
  requireAtLeast('sessions', options.sessions, 0);
  requireAtLeast('replication', options.replication, 1);
  requireAtLeast('relics', options.relics, 0);
  requireAtLeast('extraTables', options.extraTables, 0);
  requireAtLeast('gateways', options.gateways, 1);
  requireAtLeast('storesPerNode', options.storesPerNode ?? 1, 1);
  if (options.gateways > options.nodes) {
    throw new RangeError(`gateways: ${options.gateways} is more than the ${options.nodes} nodes`);
  }
  return options;
}

function requireAtLeast(name: string, value: number, least: number): void {
  if (Number.isInteger(value) && value >= least) return;
  throw new RangeError(`${name}: ${value} is not an integer of ${least} or more`);
}

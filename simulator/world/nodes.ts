import type { SimulatorOptions } from '../options.ts';
import { createRandom, type Random } from '../random.ts';
import { DEFAULT_RELEASE, type Release, traitsOf, versionOf } from '../releases.ts';

export type Liveness =
  | 'unknown'
  | 'dead'
  | 'unavailable'
  | 'live'
  | 'decommissioning'
  | 'decommissioned'
  | 'draining';

/** Whether the node belongs to the cluster, apart from whether it is up. */
type Membership = 'active' | 'decommissioning' | 'decommissioned';

/** A change of the liveness that time brings. */
interface LivenessChange {
  readonly atMs: number;
  readonly becomes: (node: ClusterNode) => Liveness;
}

/** The process: down and partitioned nodes cannot be reached, a frozen one accepts calls and never responds. */
type ProcessState = 'up' | 'down' | 'partitioned' | 'frozen';

/** The calls to which a live node never responds, as if they waited for a lock. */
export type Silence = 'nothing' | 'ranges' | 'ranges-and-sessions';

export interface Store {
  readonly id: number;
  readonly capacityBytes: number;
  readonly usedShare: number;
}

interface ServerVersion {
  readonly major: number;
  readonly minor: number;
  readonly internal: number;
}

/** The status record a node writes every 10 seconds. */
export interface NodeRecord {
  readonly startedAtMs: number;
  readonly updatedAtMs: number;
  readonly metrics: Readonly<Record<string, number>>;
  readonly stores: ReadonlyMap<number, Readonly<Record<string, number>>>;
}

export interface ClusterNode {
  readonly id: number;
  /** It died before the world began. */
  readonly isRelic: boolean;
  readonly stores: readonly Store[];
  readonly locality: readonly { readonly key: string; readonly value: string }[];
  readonly host: string;
  readonly cpus: number;
  readonly memoryBytes: number;
  release: Release;
  buildTag: string;
  serverVersion: ServerVersion;
  liveness: Liveness;
  /** The changes that are not yet due, in the order of time. */
  upcoming: readonly LivenessChange[];
  membership: Membership;
  /** False once its decommissioning has finished: the server deletes the record then. */
  hasRecord: boolean;
  process: ProcessState;
  /** It came back, and its replicas have not learned yet what their ranges are now. */
  isBehind: boolean;
  silentOn: Silence;
  startedAtMs: number;
  /** The last record, kept until the next one is due. */
  written: NodeRecord | undefined;
  /** The last record of a stopped node. */
  frozenRecord: NodeRecord | undefined;
  /** Gauges that its process keeps until it restarts, although the job that set them has moved or ended. */
  keptGauges: Record<string, number>;
  /** How often each of its stores has withdrawn its support of another one since the node started. */
  withdrawnSupport: number;
  /** Values of its records that were set, for the node and for its stores. */
  readonly overrides: Readonly<Record<'node' | 'stores', Record<string, number>>>;
}

const REGIONS = ['us-east1', 'us-west2', 'europe-west4'];
const GIBIBYTE = 2 ** 30;
const DAY_MS = 86_400_000;

/** The nodes of a new world, all of them live. */
export function generateNodes(options: SimulatorOptions, startMs: number): ClusterNode[] {
  const random = createRandom(options.seed ^ 0x6e6f6465);
  const nodes: ClusterNode[] = [];
  let storeId = 1;
  for (let id = 1; id <= options.nodes; id++) {
    const count = options.storesPerNode ?? random.integer(1, 2);
    const stores = Array.from({ length: count }, () => generateStore(storeId++, random));
    nodes.push(generateNode(options, id, stores, random, startMs));
  }
  return nodes;
}

const RELIC_AGE_MS = 400 * DAY_MS;

/** Members that died long ago, for a world with these nodes. */
export function generateRelics(
  options: SimulatorOptions,
  nodes: readonly ClusterNode[],
  startMs: number,
): ClusterNode[] {
  const random = createRandom(options.seed ^ 0x72656c69);
  const firstStore = 1 + nodes.flatMap(({ stores }) => stores).length;
  return Array.from({ length: options.relics }, (_, index): ClusterNode => {
    const id = options.nodes + 1 + index;
    const diedMs = startMs - RELIC_AGE_MS - index * DAY_MS;
    const isLeaving = index % 2 === 0;
    const store = generateStore(firstStore + index, random);
    const node = generateNode(options, id, [store], random, diedMs);
    return {
      ...node,
      isRelic: true,
      host: options.relicsAtNodes ? (nodes[index % nodes.length]?.host ?? node.host) : node.host,
      buildTag: 'v20.1.17',
      serverVersion: { major: 20, minor: 1, internal: 0 },
      process: 'down',
      liveness: isLeaving ? 'decommissioned' : 'dead',
      membership: isLeaving ? 'decommissioning' : 'active',
      frozenRecord: {
        startedAtMs: node.startedAtMs,
        updatedAtMs: diedMs,
        metrics: { 'sys.uptime': Math.floor((diedMs - node.startedAtMs) / 1000) },
        stores: new Map([[store.id, { capacity: store.capacityBytes, replicas: 0 }]]),
      },
    };
  });
}

/** A node that begins again, without data, at the address of another one. */
export function generateReplacement(
  options: SimulatorOptions,
  members: Iterable<ClusterNode>,
  { host, locality }: ClusterNode,
  nowMs: number,
): ClusterNode {
  const all = [...members];
  const id = 1 + Math.max(...all.map((node) => node.id));
  const storeId = 1 + Math.max(...all.flatMap(({ stores }) => stores.map((store) => store.id)));
  const random = createRandom(options.seed ^ id);
  const node = generateNode(options, id, [generateStore(storeId, random)], random, nowMs);
  return { ...node, host, locality, startedAtMs: nowMs };
}

function generateStore(id: number, random: Random): Store {
  return { id, capacityBytes: 512 * GIBIBYTE, usedShare: 0.25 + 0.35 * random.next() };
}

function generateNode(
  { nodeTier, release = DEFAULT_RELEASE }: SimulatorOptions,
  id: number,
  stores: readonly Store[],
  random: Random,
  startMs: number,
): ClusterNode {
  const region = REGIONS[(id - 1) % REGIONS.length] ?? 'us-east1';
  const zone = `${region}-${'bcd'[Math.floor((id - 1) / REGIONS.length) % 3] ?? 'b'}`;
  const host = `crdb-${id}.example.internal`;
  return {
    id,
    isRelic: false,
    stores,
    locality: [
      { key: 'region', value: region },
      { key: 'zone', value: zone },
      ...(nodeTier ? [{ key: 'dns', value: host }] : []),
    ],
    host,
    cpus: 8,
    memoryBytes: 32 * GIBIBYTE,
    release,
    buildTag: traitsOf({ release }).build,
    serverVersion: versionOf(release),
    liveness: 'live',
    upcoming: [],
    membership: 'active',
    hasRecord: true,
    process: 'up',
    isBehind: false,
    silentOn: 'nothing',
    startedAtMs: Math.floor(startMs - DAY_MS * (2 + 28 * random.next())),
    written: undefined,
    frozenRecord: undefined,
    keptGauges: {},
    withdrawnSupport: 0,
    overrides: { node: {}, stores: {} },
  };
}

/** The zone of a node; its narrowest tier may be the node itself. */
export function zoneOf({ locality }: ClusterNode): string | undefined {
  return locality.find(({ key }) => key === 'zone')?.value;
}

/** Whether other nodes count this node's replicas as live. */
export function countsAsLive(node: ClusterNode): boolean {
  return (
    node.liveness === 'live' || node.liveness === 'draining' || node.liveness === 'decommissioning'
  );
}

/** Whether other nodes can call this node. */
export function isReachable(node: ClusterNode): boolean {
  return node.process === 'up';
}

/** The nodes with faults, if any: the last ones, if there are enough nodes. */
export interface FaultyNodes {
  readonly dead: number | undefined;
  readonly draining: number | undefined;
  /** It died after its replicas had moved away, before its decommissioning finished. */
  readonly decommissioned: number | undefined;
}

export function faultyNodesOf(options: SimulatorOptions): FaultyNodes {
  const count = options.faultyNodes ? options.nodes : 0;
  return {
    dead: count >= 4 ? count : undefined,
    draining: count >= 5 ? count - 1 : undefined,
    decommissioned: count >= 6 ? count - 2 : undefined,
  };
}

/** Clients connect to the nodes that are up. */
export function clientNodeIds(options: SimulatorOptions): number[] {
  const { dead, decommissioned } = faultyNodesOf(options);
  const ids = Array.from({ length: options.nodes }, (_, index) => index + 1);
  return ids.filter((id) => id !== dead && id !== decommissioned);
}

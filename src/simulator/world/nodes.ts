import { createRandom, type Random } from '../random.ts';
import type { SimulatorOptions } from '../options.ts';

export type Liveness =
  | 'unknown'
  | 'dead'
  | 'unavailable'
  | 'live'
  | 'decommissioning'
  | 'decommissioned'
  | 'draining'
  | 'starting';

/** What the process does: down and partitioned nodes cannot be dialled, a frozen one accepts and never answers. */
type ProcessState = 'up' | 'down' | 'partitioned' | 'frozen';

/** What a node that is live never answers: a lock held inside it stops these calls and nothing else. */
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
  readonly stores: readonly Store[];
  readonly locality: readonly { readonly key: string; readonly value: string }[];
  readonly host: string;
  readonly cpus: number;
  readonly memoryBytes: number;
  buildTag: string;
  serverVersion: ServerVersion;
  liveness: Liveness;
  process: ProcessState;
  silentOn: Silence;
  startedAtMs: number;
  /** What it wrote last, kept until the next writing is due. */
  written: NodeRecord | undefined;
  /** The last record of a node that no longer writes any. */
  frozenRecord: NodeRecord | undefined;
}

const REGIONS = ['us-east1', 'us-west2', 'europe-west4'];
const GIBIBYTE = 2 ** 30;
const DAY_MS = 86_400_000;

/** The nodes of a new world, all of them live. */
export function growNodes(options: SimulatorOptions, startMs: number): ClusterNode[] {
  const random = createRandom(options.seed ^ 0x6e6f6465);
  const nodes: ClusterNode[] = [];
  let storeId = 1;
  for (let id = 1; id <= options.nodes; id++) {
    const count = options.storesPerNode ?? random.integer(1, 2);
    const stores = Array.from({ length: count }, () => growStore(storeId++, random));
    nodes.push(growNode(id, stores, random, startMs));
  }
  return nodes;
}

function growStore(id: number, random: Random): Store {
  return { id, capacityBytes: 512 * GIBIBYTE, usedShare: 0.25 + 0.35 * random.next() };
}

function growNode(
  id: number,
  stores: readonly Store[],
  random: Random,
  startMs: number,
): ClusterNode {
  const region = REGIONS[(id - 1) % REGIONS.length] ?? 'us-east1';
  const zone = `${region}-${'bcd'[Math.floor((id - 1) / REGIONS.length) % 3] ?? 'b'}`;
  return {
    id,
    stores,
    locality: [
      { key: 'region', value: region },
      { key: 'zone', value: zone },
    ],
    host: `crdb-${id}.example.internal`,
    cpus: 8,
    memoryBytes: 32 * GIBIBYTE,
    buildTag: 'v25.4.3',
    serverVersion: { major: 25, minor: 4, internal: 0 },
    liveness: 'live',
    process: 'up',
    silentOn: 'nothing',
    startedAtMs: Math.floor(startMs - DAY_MS * (2 + 28 * random.next())),
    written: undefined,
    frozenRecord: undefined,
  };
}

/** Whether other nodes count this node's replicas as alive. */
export function countsAsLive(node: ClusterNode): boolean {
  return (
    node.liveness === 'live' ||
    node.liveness === 'draining' ||
    node.liveness === 'decommissioning' ||
    node.liveness === 'starting'
  );
}

/** Whether a call from another node gets an answer. */
export function answersCalls(node: ClusterNode): boolean {
  return node.process === 'up';
}

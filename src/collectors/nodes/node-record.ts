import { type LocalityReader, localityShape, type Tier } from '#cockroach';
import {
  array,
  type Infer,
  integer,
  type SelectedKeys,
  nameText,
  number,
  object,
  record,
  selected,
} from '#json';
import { cleanLabelValue } from '#metrics';
import { CERTIFICATE_PREFIX, CLOCK_OFFSET, LICENSE_KEYS } from './node-families.ts';

const netAddress = object({ address_field: nameText() });

/** A node with some of its thousands of metrics. */
export function nodeShape(nodeKeys: SelectedKeys, storeKeys: SelectedKeys) {
  return object({
    node_id: integer(),
    liveness_status: integer(),
    address: netAddress,
    sql_address: netAddress,
    build_tag: nameText(),
    cluster_name: nameText(),
    ServerVersion: object({
      major_val: integer(),
      minor_val: integer(),
      patch: integer(),
      internal: integer(),
    }),
    locality: localityShape,
    started_at: integer(),
    updated_at: integer(),
    num_cpus: number(),
    num_vcpus: number(),
    total_system_memory: integer(),
    metrics: selected(nodeKeys, number()),
    store_metrics: record(selected(storeKeys, number())),
  });
}

const EVERY_KEY: SelectedKeys = { keys: [], prefixes: [''] };

/** A node with all of its metrics, for the command `nodes`. */
export const nodeDetails = object({
  ...nodeShape(EVERY_KEY, EVERY_KEY).fields,
  attrs: object({ attrs: array(nameText()) }),
});

/** CPU time of the process, in CPUs and as a share of those that it may use. */
export const CPU_KEYS = {
  user: 'sys.cpu.user.percent',
  system: 'sys.cpu.sys.percent',
  share: 'sys.cpu.combined.percent-normalized',
} as const;

/**
 * The metrics of a node, without those of its process where it has not measured it: it writes its first record 10 s before, in which
 * memory, CPU and file descriptors are 0.
 */
export function measuredMetrics({ metrics }: Pick<ListedNode, 'metrics'>): ListedNode['metrics'] {
  if (metrics.get('sys.rss') !== 0) return metrics;
  return new Map([...metrics].filter(([key]) => !key.startsWith('sys.')));
}

type NodeElement = Infer<ReturnType<typeof nodeShape>>;

/** A node as of one poll; its texts are valid label values, '' where the server sent none. */
export interface ListedNode {
  readonly id: number;
  /** Undefined when the server sent no integer. */
  readonly livenessCode: number | undefined;
  readonly address: string;
  readonly sqlAddress: string;
  readonly buildTag: string;
  readonly serverVersion: string;
  readonly clusterName: string;
  /** From broad to narrow. */
  readonly tiers: readonly Tier[];
  /** Both times are 0 when the server sent none. */
  readonly startedSeconds: number;
  readonly updatedSeconds: number;
  /** The age by the clock of the server that answered; undefined when it sent no Date. */
  readonly recordAgeSeconds?: number | undefined;
  /** False when the node no longer writes its record: its measurements are old. */
  readonly isFresh: boolean;
  /** True while it runs the job of the statistics and has not counted yet: its figures are older, or 0. */
  readonly hasNotCounted?: boolean;
  readonly cpus: number | undefined;
  readonly memoryBytes: number | undefined;
  readonly metrics: ReadonlyMap<string, number>;
  /** When the license expires, Unix time; undefined without one. */
  readonly licenseExpirySeconds: number | undefined;
  /** When each certificate expires, Unix time, by its name, as `node` or `ca`; 0 where the node has none. */
  readonly certificates: ReadonlyMap<string, number>;
  /** The metrics of each store, by its id. */
  readonly stores: ReadonlyMap<string, ReadonlyMap<string, number>>;
}

/** A node whose record may be old. */
export type NodeRecord = Omit<ListedNode, 'isFresh' | 'hasNotCounted'>;

/** Copies a node from the element, which the decoder reuses for the next one. `dateMs` is when the server sent it. */
export function copyNode(
  node: NodeElement,
  dateMs: number | undefined,
  localities: LocalityReader,
): NodeRecord {
  const updatedSeconds = nanosToSeconds(node.updated_at);
  const hasAge = dateMs !== undefined && updatedSeconds > 0;
  return {
    id: node.node_id ?? 0,
    livenessCode: node.liveness_status,
    address: cleanLabelValue(node.address.address_field ?? ''),
    sqlAddress: cleanLabelValue(node.sql_address.address_field ?? ''),
    buildTag: cleanLabelValue(node.build_tag ?? ''),
    serverVersion: formatVersion(node.ServerVersion),
    clusterName: cleanLabelValue(node.cluster_name ?? ''),
    tiers: localities.copyTiers(node.locality),
    startedSeconds: nanosToSeconds(node.started_at),
    updatedSeconds,
    recordAgeSeconds: hasAge ? Math.max(0, dateMs / 1000 - updatedSeconds) : undefined,
    cpus: positive(node.num_vcpus) ?? usableCpus(node.metrics, positive(node.num_cpus)),
    memoryBytes: positive(node.total_system_memory),
    metrics: withoutEmptyMean(node.metrics),
    ...expiriesOf(node.metrics, updatedSeconds),
    stores: node.store_metrics,
  };
}

/** The sum of the times of all SQL users: two that expire in 2026 make 2082. */
const CLIENT_CERTIFICATES = `${CERTIFICATE_PREFIX}client`;

/** When license and certificates expire, by the metrics of a record of this time. */
export function expiriesOf(
  metrics: ReadonlyMap<string, number>,
  updatedSeconds: number,
): Pick<NodeRecord, 'licenseExpirySeconds' | 'certificates'> {
  const [untilExpiry] = LICENSE_KEYS.flatMap((key) => metrics.get(key) ?? []);
  const certificates = [...metrics].flatMap(([key, seconds]) =>
    key.startsWith(CERTIFICATE_PREFIX) && key !== CLIENT_CERTIFICATES
      ? [[key.slice(CERTIFICATE_PREFIX.length), seconds] as const]
      : [],
  );
  return {
    // 0 seconds mean that there is no license; an expired one has less.
    licenseExpirySeconds: untilExpiry ? updatedSeconds + untilExpiry : undefined,
    certificates: new Map(certificates),
  };
}

/** What Go on amd64 makes of NaN as an integer of 64 bits. */
const NAN_AS_INTEGER = -(2 ** 63);

/** Where a node measures no clock, the mean of the offsets is NaN, which it sends as an offset of 292 years. */
function withoutEmptyMean(metrics: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  if (metrics.get(CLOCK_OFFSET) !== NAN_AS_INTEGER) return metrics;
  return new Map([...metrics].filter(([key]) => key !== CLOCK_OFFSET));
}

/**
 * The CPUs that the server itself divides by, which respect the limit of a container: a process that uses 1.5 + 0.5
 * CPUs, half of what it may, has 4, on a host with 64, too. Without CPU time the CPUs of the host.
 */
function usableCpus(
  metrics: ReadonlyMap<string, number>,
  hostCpus: number | undefined,
): number | undefined {
  const used = (metrics.get(CPU_KEYS.user) ?? 0) + (metrics.get(CPU_KEYS.system) ?? 0);
  const share = metrics.get(CPU_KEYS.share) ?? 0;
  const cpus = share > 0 ? Math.round((used / share) * 100) / 100 : 0;
  return cpus > 0 ? Math.min(cpus, hostCpus ?? Infinity) : hostCpus;
}

/** Rounded to microseconds: a double cannot hold the nanoseconds of a Unix time. No node wrote its record before 1970. */
function nanosToSeconds(nanoseconds = 0): number {
  return Math.max(0, Math.round(nanoseconds / 1e3) / 1e6);
}

/** `25.4`, or `25.4-8` for a step between releases; '' when the server sent none. */
function formatVersion(version: NodeElement['ServerVersion']): string {
  const { major_val: major = 0, minor_val: minor = 0, internal = 0 } = version;
  if (major === 0) return '';
  return internal > 0 ? `${major}.${minor}-${internal}` : `${major}.${minor}`;
}

function positive(value: number | undefined): number | undefined {
  return value !== undefined && value > 0 ? value : undefined;
}

import {
  array,
  type Infer,
  integer,
  number,
  object,
  record,
  selected,
  string,
} from '../../json/shape.ts';
import { type ChosenKeys, wantedOfNode, wantedOfStore } from './choice.ts';

const netAddress = object({ address_field: string() });

/** The members of a node that are read; which of its thousands of metrics, the choice says. */
export function nodeShape(chosen: ChosenKeys) {
  return object({
    node_id: integer(),
    liveness_status: integer(),
    address: netAddress,
    sql_address: netAddress,
    build_tag: string(),
    cluster_name: string(),
    ServerVersion: object({ major_val: integer(), minor_val: integer(), internal: integer() }),
    locality: object({ tiers: array(object({ key: string(), value: string() })) }),
    started_at: integer(),
    updated_at: integer(),
    num_cpus: number(),
    num_vcpus: number(),
    total_system_memory: integer(),
    metrics: selected(wantedOfNode(chosen), number()),
    store_metrics: record(selected(wantedOfStore(chosen), number())),
  });
}

type NodeElement = Infer<ReturnType<typeof nodeShape>>;

/** By their keys, as the server sends them. */
export type Values = ReadonlyMap<string, number>;

/** Locality tiers of a node that are read; real ones have two or three. */
export const MAX_TIERS = 32;

interface Tier {
  readonly key: string;
  readonly value: string;
}

/** What is kept of a node until the poll is over. Zero and '' mean that the server did not say. */
export interface NodeRecord {
  readonly id: number;
  /** Undefined when what the server sent is no integer. */
  readonly livenessCode: number | undefined;
  readonly address: string;
  readonly sqlAddress: string;
  readonly buildTag: string;
  readonly serverVersion: string;
  readonly clusterName: string;
  readonly tiers: readonly Tier[];
  /** Tiers beyond the first MAX_TIERS were left out. */
  readonly hasMoreTiers: boolean;
  readonly startedSeconds: number;
  readonly updatedSeconds: number;
  readonly cpus: number;
  readonly memoryBytes: number;
  readonly metrics: Values;
  readonly stores: ReadonlyMap<string, Values>;
}

const STORE_ID = /^[1-9][0-9]*$/;

/** Copies a node out of the element, which the decoder uses again for the next one; undefined when it has no valid id. */
export function copyNode(node: NodeElement): NodeRecord | undefined {
  const id = node.node_id ?? 0;
  if (id <= 0) return undefined;
  return {
    id,
    livenessCode: node.liveness_status,
    address: node.address.address_field ?? '',
    sqlAddress: node.sql_address.address_field ?? '',
    buildTag: node.build_tag ?? '',
    serverVersion: writeVersion(node.ServerVersion),
    clusterName: node.cluster_name ?? '',
    tiers: node.locality.tiers
      .slice(0, MAX_TIERS)
      .map(({ key = '', value = '' }) => ({ key, value })),
    hasMoreTiers: node.locality.tiers.length > MAX_TIERS,
    startedSeconds: toSeconds(node.started_at),
    updatedSeconds: toSeconds(node.updated_at),
    // Virtual CPUs respect the limit of the cgroup, which the CPUs of the host do not.
    cpus: positive(node.num_vcpus) ?? positive(node.num_cpus) ?? 0,
    memoryBytes: positive(node.total_system_memory) ?? 0,
    metrics: new Map(node.metrics),
    stores: copyStores(node.store_metrics),
  };
}

/** A double does not hold so many nanoseconds: the last digits are lost, and microseconds are what remains. */
function toSeconds(nanoseconds = 0): number {
  return Math.round(nanoseconds / 1e3) / 1e6;
}

/** `25.4`, or `25.4-8` for a step between releases; '' when the server did not say. */
function writeVersion({
  major_val: major = 0,
  minor_val: minor = 0,
  internal = 0,
}: NodeElement['ServerVersion']): string {
  if (major === 0) return '';
  return internal > 0 ? `${major}.${minor}-${internal}` : `${major}.${minor}`;
}

function positive(value: number | undefined): number | undefined {
  return value !== undefined && value > 0 ? value : undefined;
}

function copyStores(stores: NodeElement['store_metrics']): ReadonlyMap<string, Values> {
  const sorted = [...stores]
    .filter(([id]) => STORE_ID.test(id))
    .toSorted(([a], [b]) => Number(a) - Number(b));
  return new Map(sorted.map(([id, values]) => [id, new Map(values)]));
}

import { boolean, type Infer, object, raw, string } from '#json';
import type { MessageReader } from './protobuf/index.ts';

/** The descriptor of a range, as one of its replicas knows it. */
export interface RangeDescriptor {
  readonly rangeId: number;
  /**
   * `type` as in roachpb ReplicaType: 0 is a voter, 5 a non-voter; undefined where it is no integer. The store is 0 where it is not
   * known.
   */
  readonly replicas: readonly {
    readonly nodeId: number;
    readonly storeId: number;
    readonly type: number | undefined;
  }[];
  /** Rises with each change of the replicas or of the keys; the low 32 bits. */
  readonly generation: number;
  /** The replica that sends it holds the lease, which is valid. */
  readonly isFromLeaseholder: boolean;
}

/** A range of GET /_status/ranges/{node_id}, as jsonpb writes it: integers of 64 bits as strings, enums as integers. */
export const describedRange = object({
  state: object({
    state: object({
      desc: object({
        rangeId: string(),
        generation: string(),
        internalReplicas: raw(),
      }),
    }),
  }),
  isLeaseholder: boolean(),
  leaseValid: boolean(),
});

/** Copies the descriptor from the element, which is reused for the next one; undefined without an id or replicas. */
export function readDescriptor({
  state,
  isLeaseholder,
  leaseValid,
}: Infer<typeof describedRange>): RangeDescriptor | undefined {
  const { rangeId, generation = '', internalReplicas } = state.state.desc;
  const replicas = Array.isArray(internalReplicas) ? internalReplicas.map(readReplica) : [];
  const id = Number(rangeId);
  if (!Number.isSafeInteger(id) || id <= 0 || replicas.length === 0) return undefined;
  return {
    rangeId: id,
    replicas,
    generation: /^\d{1,19}$/.test(generation) ? Number(BigInt.asUintN(32, BigInt(generation))) : 0,
    isFromLeaseholder: isLeaseholder === true && leaseValid === true,
  };
}

const NO_REPLICA = { nodeId: 0, storeId: 0, type: undefined } as const;

function integerOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : undefined;
}

/** Reads one replica. One that is no object has node 0 and no type, so that the voters are not known: without it others would seem to be a majority. */
function readReplica(sent: unknown): RangeDescriptor['replicas'][number] {
  const { nodeId, storeId, type } =
    typeof sent === 'object' ? { nodeId: 0, storeId: 0, type: 0, ...sent } : NO_REPLICA;
  return {
    nodeId: integerOf(nodeId ?? 0) ?? 0,
    storeId: integerOf(storeId) ?? 0,
    type: integerOf(type ?? 0),
  };
}

/** What is read of a RangeInfo while its messages come one after the other; a message that is sent twice adds to the first. */
interface ReadRange {
  rangeId: number;
  generation: number;
  isLeaseholder: boolean;
  leaseValid: boolean;
  readonly replicas: { readonly nodeId: number; readonly storeId: number; readonly type: number }[];
}

/** Reads a RangeInfo (pkg/server/serverpb/status.proto) up to its end; undefined without an id or replicas. */
export function readDescriptorMessage(
  reader: MessageReader,
  end: number,
): RangeDescriptor | undefined {
  const range: ReadRange = {
    rangeId: 0,
    generation: 0,
    isLeaseholder: false,
    leaseValid: false,
    replicas: [],
  };
  for (let field = reader.next(end); field !== 0; field = reader.next(end)) {
    if (field === 4) readStateMessage(reader, reader.message(), range);
    else if (field === 23) range.isLeaseholder = reader.boolean();
    else if (field === 24) range.leaseValid = reader.boolean();
    else reader.skip();
  }
  const { rangeId, generation, isLeaseholder, leaseValid, replicas } = range;
  if (!Number.isSafeInteger(rangeId) || rangeId <= 0 || replicas.length === 0) return undefined;
  return { rangeId, replicas, generation, isFromLeaseholder: isLeaseholder && leaseValid };
}

/** RangeInfo (storagepb/state.proto): its first field is the state of the replica. */
function readStateMessage(reader: MessageReader, end: number, range: ReadRange): void {
  for (let field = reader.next(end); field !== 0; field = reader.next(end)) {
    if (field === 1) readReplicaStateMessage(reader, reader.message(), range);
    else reader.skip();
  }
}

/** ReplicaState (storagepb/state.proto). */
function readReplicaStateMessage(reader: MessageReader, end: number, range: ReadRange): void {
  for (let field = reader.next(end); field !== 0; field = reader.next(end)) {
    if (field === 3) readRangeDescriptorMessage(reader, reader.message(), range);
    else reader.skip();
  }
}

/** RangeDescriptor (roachpb/metadata.proto). */
function readRangeDescriptorMessage(reader: MessageReader, end: number, range: ReadRange): void {
  for (let field = reader.next(end); field !== 0; field = reader.next(end)) {
    if (field === 1) range.rangeId = reader.int64();
    else if (field === 4) range.replicas.push(readReplicaMessage(reader, reader.item()));
    else if (field === 6) range.generation = reader.int32() >>> 0;
    else reader.skip();
  }
}

/** ReplicaDescriptor (roachpb/metadata.proto): a type that is absent is a voter. */
function readReplicaMessage(reader: MessageReader, end: number): ReadRange['replicas'][number] {
  let nodeId = 0;
  let storeId = 0;
  let type = 0;
  for (let field = reader.next(end); field !== 0; field = reader.next(end)) {
    if (field === 1) nodeId = reader.int32();
    else if (field === 2) storeId = reader.int32();
    else if (field === 4) type = reader.int32();
    else reader.skip();
  }
  return { nodeId, storeId, type };
}

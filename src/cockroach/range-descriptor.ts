import { boolean, type Infer, object, raw, string } from '../json/index.ts';

/** The descriptor of a range, as one of its replicas knows it. */
export interface RangeDescriptor {
  readonly rangeId: number;
  /** `type` as in roachpb ReplicaType: 0 is a voter, 5 a non-voter; undefined where it is no integer. */
  readonly replicas: readonly { readonly nodeId: number; readonly type: number | undefined }[];
  /** Rises with each change of the replicas or of the keys; the low 16 bits. */
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
    generation: /^\d{1,19}$/.test(generation) ? Number(BigInt.asUintN(16, BigInt(generation))) : 0,
    isFromLeaseholder: isLeaseholder === true && leaseValid === true,
  };
}

const NO_REPLICA = { nodeId: 0, type: undefined } as const;

function integerOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : undefined;
}

/** Reads one replica. One that is no object has node 0 and no type, so that the voters are not known: without it others would seem to be a majority. */
function readReplica(sent: unknown): RangeDescriptor['replicas'][number] {
  const { nodeId, type } = typeof sent === 'object' ? { nodeId: 0, type: 0, ...sent } : NO_REPLICA;
  return { nodeId: integerOf(nodeId ?? 0) ?? 0, type: integerOf(type ?? 0) };
}

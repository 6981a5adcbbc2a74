import { array, boolean, type Infer, integer, object, string } from '../json/index.ts';

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
        internalReplicas: array(object({ nodeId: integer(), type: integer() })),
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
  const id = Number(rangeId);
  if (!Number.isSafeInteger(id) || id <= 0 || internalReplicas.length === 0) return undefined;
  return {
    rangeId: id,
    replicas: internalReplicas.map(({ nodeId = 0, type }) => ({ nodeId, type })),
    generation: /^\d{1,19}$/.test(generation) ? Number(BigInt.asUintN(16, BigInt(generation))) : 0,
    isFromLeaseholder: isLeaseholder === true && leaseValid === true,
  };
}

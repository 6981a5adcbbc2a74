import { array, boolean, type Infer, integer, object, optional, raw, record } from '#json';
import { replicaShape } from './replica.ts';

/** A replica as the collector reads it, with all that its server says of leases and problems. */
export const replicaDetails = object({
  ...replicaShape.fields,
  lease_history: array(
    object({
      start: raw(),
      expiration: raw(),
      proposed_ts: raw(),
      epoch: integer(),
      term: integer(),
      sequence: integer(),
      acquisition_type: integer(),
      replica: object({ node_id: integer(), store_id: integer(), replica_id: integer() }),
    }),
  ),
  problems: optional(record(boolean())),
});

export type ReplicaDetails = Infer<typeof replicaDetails>;

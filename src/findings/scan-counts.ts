/** A number that a scan read, and the last count of the nodes. */
export type ReadAndCounted = Readonly<Record<'read' | 'counted', number>>;

/** The last scan beside the counts of the nodes that were read, for information. */
export interface ScanCheck {
  readonly replicas: ReadAndCounted;
  /** A node counts valid leases, and a scan reads the last known ones. Undefined where a node does not count them. */
  readonly leases: ReadAndCounted | undefined;
  /** Nodes that were read, without current counts: they are not in the numbers. */
  readonly uncountedNodes: number;
}

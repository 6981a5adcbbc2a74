// The nodes as the status page and /api/status show them. Times are RFC 3339.

/** The nodes of a cluster. */
export interface NodesStatus {
  readonly byStatus: Readonly<Record<string, number>>;
  /** Builds of the nodes that are not dead, decommissioned or without liveness. */
  readonly builds: readonly string[];
  readonly versions?: VersionsStatus | undefined;
  /** Number of listed nodes whose id could not be read, where there are some. */
  readonly unreadable?: number;
  readonly list: readonly NodeStatus[];
}

/** The builds of the active members. */
export interface VersionsStatus {
  /** The newest first. */
  readonly builds: readonly {
    readonly build: string;
    readonly nodes: readonly number[];
    /** The last start of one of these nodes. */
    readonly lastStartedAt: string | undefined;
  }[];
  /**
   * Why an upgrade to a new release is not finalized: nodes still run the old one, `cluster.preserve_downgrade_option` holds it,
   * or dead members ran an older one. Undefined where nothing that nodes tell keeps it open: whether it is finalized is not known.
   */
  readonly openUpgrade: 'nodes' | 'held' | 'dead' | undefined;
  /** The dead members that ran an older one, whatever else holds the upgrade. */
  readonly deadWithOlderRelease?: readonly number[];
}

/** What the last record of a node says; undefined while the record is stale, and what the node does not tell. */
export interface NodeFigures {
  readonly startedAt?: string | undefined;
  readonly cpuRatio?: number | undefined;
  readonly memoryRatio?: number | undefined;
  /** The used share of the disk of the fullest store, whoever fills it. */
  readonly diskUsedRatio?: number | undefined;
  readonly leases?: number | undefined;
  readonly sqlLatencyP99Seconds?: number | undefined;
  /** Other nodes that it has a connection to, of all that it knows. */
  readonly peers?: { readonly reached: number; readonly all: number } | undefined;
  /** The figures that are over the limit of an alert; peers: a live node that it does not reach. */
  readonly overLimit?: readonly ('cpu' | 'memory' | 'disk' | 'latency' | 'peers')[] | undefined;
}

/** A node as its record describes it. */
export interface NodeStatus extends NodeFigures {
  readonly id: number;
  readonly status: string;
  /** `region=us-east1,zone=b`; empty when the node has none. */
  readonly locality: string;
  readonly build: string;
  readonly recordAt: string | undefined;
  /** True when other nodes write their records and this one does not. */
  readonly isStale: boolean;
  /** The number of replicas that the node counts; undefined while its record is stale. */
  readonly replicas?: number | undefined;
  /** Its record is current and has none of the metrics that are read. */
  readonly hasNoMetrics?: true | undefined;
  /** Why replicas cannot leave it, as a clause, where it is known; only while it is being decommissioned. */
  readonly obstacle?: string | undefined;
  /** It counts as dead and goes on writing its record: its process runs. */
  readonly isWriting?: true | undefined;
  /** Gone for good: dead for more than a week without a range that needs it, or an old record without a liveness. */
  readonly isRetired?: true | undefined;
}

import type { RangeProblem } from '#base';
import type { RequestError } from '#cockroach';
import type { CollectorResult } from '../collector.ts';

/** The ranges, as a scan of the nodes of this shard has found them. */
export interface RangesResult extends CollectorResult {
  /** The nodes that were read, by id. */
  readonly scanned: readonly ScannedNode[];
  /** The nodes that could not be read, by id. */
  readonly failed: readonly FailedNode[];
  /** Number of listed nodes whose id could not be read. */
  readonly unreadable: number;
  /** Number of nodes that were not queried because they are not live. */
  readonly skipped: number;
  /** Absent when the scan failed. */
  readonly summary?: ScanSummary;
}

/** Sums over the replicas of one store. */
export interface StoreTotals {
  replicas: number;
  leases: number;
  quiescent: number;
  ticking: number;
  /** Replicas by index of REPORTED_PROBLEMS. */
  readonly problems: number[];
  /** Sums by index of LOADS. */
  readonly load: Float64Array;
}

/** A node that was read, in a few numbers. */
export interface ScannedNode {
  readonly nodeId: number;
  /** Sums by store id. */
  readonly stores: ReadonlyMap<number, StoreTotals>;
  /** Whether its server sends more load than queries and writes; servers leave zeros out. */
  readonly isDetailed: boolean;
  /** Replicas whose problems could not be read. */
  readonly withoutProblems: number;
  /** Whether the kinds of all leases of its replicas could be read. */
  readonly knowsLeaseKinds: boolean;
  /** Lease-holding replicas up to each of QUERY_RATE_BOUNDS and above the one before. */
  readonly byQueries: readonly number[];
  /** Maxima over the lease-holding replicas; undefined without any. */
  readonly maxQueries: number | undefined;
  readonly maxCpuNanos: number | undefined;
}

/** A node that was not read. */
export interface FailedNode {
  readonly nodeId: number;
  /** False when the scan ran out of time before it began with this node. */
  readonly wasQueried: boolean;
  readonly failure: RequestError;
}

/** The distinct ranges of one scan, counted. */
export interface RangeCounts {
  ranges: number;
  /** Ranges by number of replicas seen, at that index; the last is for all that have more. */
  readonly byReplicas: number[];
  /** Ranges by index of LEASE_KINDS. */
  readonly byLeaseKind: number[];
  /** Ranges by index of PROBLEMS. */
  readonly byProblem: number[];
  /** Ranges by id of the table, then by index of REPORTED_PROBLEMS. */
  readonly problemsByTable: Map<number, number[]>;
}

/** The nodes that were scanned, taken together. */
export interface ScanSummary extends Omit<RangeCounts, 'byProblem'> {
  /** What the scan shows of the cluster as a whole; undefined for a shard, and while a node to be read was not. */
  readonly cluster?: ClusterScan | undefined;
  /**
   * It lacks `no_live_replica` while it is not known which ranges are lost and, while the problems of a replica could not be read,
   * those that no other one reports.
   */
  readonly problems: ReadonlyMap<RangeProblem, ProblemSummary>;
  /** Lease changes since the start of the exporter. */
  readonly leaseChanges: number;
  /** The hottest by queries or by CPU first. */
  readonly hot: readonly HotRange[];
  readonly tables: ShownTables;
  /** All nodes send the CPU of their replicas; else the sums of tables lack some. */
  readonly hasTableCpu: boolean;
}

/** What a scan of all nodes shows of the cluster as a whole. */
export interface ClusterScan {
  /** Ranges whose replicas are not verified: which nodes may stop is not known while there are some. */
  readonly unverified: number;
  /**
   * Ranges that serve nothing now, confirmed: no majority of replicas with a Raft leader, or no lease. Undefined where none is, while the
   * problems of a replica could not be read, or no replica that reports it could be asked a second time.
   */
  readonly servingNothing: number | undefined;
  /** Part of `servingNothing`: ranges that are neither without a majority nor reported as unavailable. */
  readonly stuck: number;
  /**
   * Ranges without a majority of live voters that no node reports as unavailable, by id of the table: 0 outside of tables, UNKNOWN_TABLE
   * where it is not known.
   */
  readonly unreported: ReadonlyMap<number, number>;
  /** Ranges that only nodes without their lease report as unavailable. */
  readonly disputed: DisputedRanges;
  /** `servingNothing` is a lower bound: not all replicas that report it could be asked a second time. */
  readonly isServingBound: boolean;
  /** Replicas that a merge left behind: verified ranges join without them, and they serve no key. By range. */
  readonly leftOver: readonly HeldRange[];
  readonly keySpace: KeySpaceStatus;
  /** Replicas whose problems could not be read: no range is verified while there is one. */
  readonly withoutProblems: number;
  /** Names of the URLs that list all ranges of a node where some are asked for: there none can be read a second time. */
  readonly ignoringUrls: readonly string[];
  /** Undefined where descriptors are refused or disabled. */
  readonly dependence: Dependence | undefined;
  readonly descriptors: DescriptorStatus;
  /** Ranges that no live node reports and whose last descriptor has no replica on one; undefined while it is not known. */
  readonly lost: number | undefined;
}

/** Ranges that some nodes report as unavailable while the holders of their leases serve them, and all of their voters are live. */
interface DisputedRanges {
  readonly rangeIds: ReadonlySet<number>;
  /** Number of ranges by id of the table, as in `unreported`. */
  readonly byTable: ReadonlyMap<number, number>;
  /** The nodes that report them. */
  readonly nodeIds: readonly number[];
}

/** Whether the ranges of a scan join from the first key to the last. */
export interface KeySpaceStatus {
  /** Nothing is missing. */
  readonly isComplete: boolean;
  /** The last three complete scans ended with the same gap: ranges are missing that no node reports. */
  readonly isGapConfirmed: boolean;
  /** Ranges without which the others join, while it is not known which of them are real: nothing is missing, if the others are. */
  readonly overlapping: readonly HeldRange[];
}

/** A range, and the nodes that report it. */
export interface HeldRange {
  readonly rangeId: number;
  readonly nodeIds: readonly number[];
  /** The table and the index that it begins in, as `tableLabels` reads them; undefined where that is not known. */
  readonly tableIndex: number | undefined;
}

/** The state of reading descriptors. */
export interface DescriptorStatus {
  readonly state: 'read' | 'refused' | 'disabled';
  /** Why the last request failed, or was refused. */
  readonly failure: RequestError | undefined;
  /** Ranges whose descriptor is to be read now. */
  readonly due: number;
  /** Ranges that are read in a minute, as measured; undefined before the first request. */
  readonly perMinute: number | undefined;
}

/** The ranges that have a problem. */
export interface ProblemSummary {
  /** Number of distinct ranges. */
  readonly ranges: number;
  /** The ranges to list, oldest first. */
  readonly listed: readonly ProblemRange[];
}

/** A range of a list, with the replica that reports it. */
export interface ListedRange {
  readonly rangeId: number;
  readonly nodeId: number;
  /** 0 where it is not known. */
  readonly storeId: number;
  /** The table and the index that it begins in, as `tableLabels` reads them. */
  readonly tableIndex: number;
  /** The id of the table that it ends in; undefined where that is the same one, or not known. */
  readonly lastTableId?: number | undefined;
  /** All nodes of its last descriptor, voters first; only of a range without a live replica. */
  readonly lastNodes?: readonly number[];
}

/** A range by the load of its lease-holding replica. */
export interface HotRange extends ListedRange {
  readonly queries: number;
  readonly writes: number;
  /** Undefined when the server does not report it. */
  readonly cpuSeconds: number | undefined;
}

/** A range with a problem, and the lowest node, and on it the lowest store, that reports it. */
export interface ProblemRange extends ListedRange {
  readonly firstSeenSeconds: number;
}

/** Load of the ranges that begin in a table: of lease-holding replicas, except the CPU, which is of all replicas. */
export interface TableLoad {
  ranges: number;
  queries: number;
  writes: number;
  cpuNanos: number;
}

/** The tables that are shown, by their label: an id, `none` outside of tables, `other` for the sum of the others. */
export interface ShownTables {
  /** The ids among the labels, without `none` and `other`. */
  readonly ids: readonly string[];
  /** The most loaded tables first. */
  readonly loads: ReadonlyMap<string, Readonly<TableLoad>>;
  /** Distinct ranges by index of REPORTED_PROBLEMS. */
  readonly problems: ReadonlyMap<string, readonly number[]>;
}

/** Nodes that may stop together, and the ranges that would then be lost to their users. */
interface FailureDomain {
  /** Ranges that have a quorum and would lose it. */
  quorum: number;
  /** Ranges that would lose their last live replica, whether they have a quorum or not. */
  allReplicas: number;
}

/** A single live node. It may stop only when its three numbers are 0. */
export interface NodeDomain extends FailureDomain {
  /** Ranges that have no quorum now and a live replica on the node. */
  withoutQuorum: number;
  /** Verified ranges that have a replica on the node by their descriptor. */
  named: number;
  /** How many of the `named` ranges have a voter there that the node, asked twice, does not list. */
  missing: number;
}

/** All live nodes of a locality. */
export interface LocalityDomain extends FailureDomain {
  readonly tier: string;
  /** The prefix up to the tier, as names of zones repeat: `region=us-east1,zone=b`. */
  readonly locality: string;
}

/** The ranges that depend on each live node and on each locality. */
export interface Dependence {
  /** The live nodes by id. */
  readonly nodes: ReadonlyMap<number, NodeDomain>;
  readonly localities: readonly LocalityDomain[];
  /** Ranges whose last descriptor names the member, lost ones included, by id of each member that is not live. */
  readonly downReplicas: ReadonlyMap<number, number>;
  /** The most voters that one of these ranges has; 0 without any. */
  readonly mostVoters: number;
}

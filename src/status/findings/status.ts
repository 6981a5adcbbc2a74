import type { FailureReason, Severity } from '#base';
import type { ApiState, CollectorState, QueryState, WatchProblem } from '#exporter';
import type { NodesStatus } from './node-status.ts';

// The status page and /api/status; docs/api-status.schema.json describes every member. Times are RFC 3339.
// A part is absent while there is no current data of it, and a figure while it is not known.
export interface Status {
  readonly at: string;
  readonly version: string;
  readonly startedAt: string;
  readonly collectors: { readonly ok: number; readonly failing: number; readonly waiting: number };
  readonly commands: CommandForm;
  readonly clusters: readonly ClusterStatus[];
}

/** How users run a command of this program with the configuration of this process. */
export interface CommandForm {
  /** The program and what stands before it: `kubectl exec exporter-0 -- crdb-exporter`. */
  readonly program: string;
  /** What stands after the words of a command, with a blank before it: ` --config.file=/etc/exporter.yml`. */
  readonly options: string;
  /** Variables with secrets that must be set where the command runs. */
  readonly variables: readonly string[];
}

/** A cluster as page and JSON show it. */
export interface ClusterStatus extends Omit<ClusterReading, 'collectors' | 'queries'> {
  readonly collectors: readonly CollectorStatus[];
  readonly queries?: readonly QueryStatus[] | undefined;
  readonly consoleUrl?: string | undefined;
  /** True when the first polls found the state: it may be older. */
  readonly mayBeOlder: boolean;
}

/** A cluster with what is wrong. */
export interface ClusterReading extends ClusterView {
  /** `unknown` while the exporter cannot see it. */
  readonly state: 'healthy' | 'problems' | 'unknown';
  /** The start of this state. With problems: of the oldest of the most severe ones, but not before the cluster was last healthy. */
  readonly since: string;
  /** Parts of the cluster that this exporter does not read, so that the state says nothing of them: `sessions`. */
  readonly notRead: readonly string[];
  readonly findings: readonly Finding[];
}

/** SQL as its users notice it. */
export interface SqlLoad {
  readonly latencyP99Seconds?: number | undefined;
  /** The node with this latency. */
  readonly slowestNodeId?: number | undefined;
}

/** The latest known state of a cluster. */
export interface ClusterView {
  readonly name: string;
  readonly isPolled: boolean;
  readonly apis: readonly ApiState[];
  readonly nodes: NodesStatus | undefined;
  readonly network: ReachabilityStatus | undefined;
  readonly ranges: RangesStatus | undefined;
  readonly safeToStop: SafeToStopStatus;
  readonly sessions: SessionsStatus | undefined;
  readonly assistant: AssistantStatus | undefined;
  readonly sqlLoad?: SqlLoad | undefined;
  /** The queries of the user; undefined without one, too. */
  readonly queries: readonly QueryState[] | undefined;
  readonly collectors: readonly CollectorState[];
  /** Only while the cluster API is down. */
  readonly lastKnown?: LastKnownStatus | undefined;
}

/**
 * What was last seen of a cluster whose API is down, however old: never more than information, so without anything that a
 * decision follows from. Nothing of it is on /metrics.
 */
export interface LastKnownStatus {
  readonly nodes?: (NodesStatus & Seen) | undefined;
  readonly ranges?: (LastKnownRanges & Seen) | undefined;
  /** The severity of the worst problems, and since when; absent where there was none. */
  readonly worst?: ({ readonly level: Severity; readonly since: string } & Seen) | undefined;
}

/** `problems` has those that no node reports among the unavailable, and those that are disputed not. */
interface LastKnownRanges extends Pick<RangesStatus, 'nodes' | 'problems' | 'disputed' | 'oldest'> {
  /** Why the scan may not have listed all problems, as sentences. */
  readonly doubt?: string | undefined;
}

interface Seen {
  /** The end of the poll that found it. */
  readonly seenAt: string;
}

/** A problem or a notable condition, as page, JSON and commands show it. */
export interface Problem extends Omit<
  WatchProblem,
  'about' | 'since' | 'cause' | 'failures' | 'downApi'
> {
  /** The part of the cluster that has the problem, or the exporter that reads it. */
  readonly about: 'nodes' | 'ranges' | 'sessions' | 'jobs' | 'assistant' | 'exporter';
  /** Where the data itself has the start of the problem. */
  readonly since?: string | undefined;
  /** The ranges that the text names. */
  readonly rangeIds?: readonly number[] | undefined;
  /** The nodes at which it was found. */
  readonly nodeIds?: readonly number[] | undefined;
}

/** A problem with its severity and start; page and JSON add links, as far as they are configured. */
export interface Finding extends Omit<Problem, 'level' | 'since'> {
  readonly level: Severity;
  readonly since: string;
  /** True when the first polls found it. */
  readonly mayBeOlder?: boolean | undefined;
  readonly runbookUrl?: string | undefined;
  readonly dashboardUrl?: string | undefined;
  readonly rangeReports?: readonly { readonly rangeId: number; readonly url: string }[] | undefined;
}

/** Whether the live nodes of a cluster reach each other; the other members only where each node lists its connections. */
export interface ReachabilityStatus {
  /** unreachable: two live nodes do not. unknown: nobody can tell. unchecked: nothing tells, neither lists nor counts. */
  readonly answer: 'reached' | 'unreachable' | 'unknown' | 'unchecked';
  /** A sentence without its capital letter; absent for reached and unchecked. */
  readonly reason?: string | undefined;
  /** The first failed connections between live nodes, each in its direction. */
  readonly failed?: readonly { readonly nodeId: number; readonly peerId: number }[] | undefined;
  readonly failedCount?: number | undefined;
  /** Live nodes that could not be asked. */
  readonly unaskedNodes?: readonly number[] | undefined;
  /** The longest round trip between two live nodes. */
  readonly slowest?:
    | { readonly nodeId: number; readonly peerId: number; readonly seconds: number }
    | undefined;
}

/** The ranges of a cluster by its last scan. */
export interface RangesStatus {
  readonly nodes: { readonly scanned: number; readonly failed: number; readonly skipped: number };
  readonly failedNodes: readonly number[];
  /** Nodes that went down after the scan had read them: it shows nothing of that yet. */
  readonly downSinceScan: readonly number[];
  /** The scan beside the nodes' own counts; undefined while no node that was read has a fresh record. */
  readonly scanCheck: ScanCheck | undefined;
  readonly problems: Readonly<Record<string, number>>;
  /** Replicas whose problems could not be read: `problems` are lower bounds. Undefined without any. */
  readonly withoutProblems?: number | undefined;
  readonly tables: readonly TableStatus[];
  readonly withoutQuorum: TablesWithoutQuorum;
  /** Ranges that only these nodes report as unavailable, while the holders of their leases serve them; undefined without any. */
  readonly disputed?: { readonly ranges: number; readonly nodeIds: readonly number[] } | undefined;
  readonly dependent: readonly DependentRanges[] | undefined;
  /** What the scan proves of the cluster as a whole; undefined where this exporter did not read every node that is up. */
  readonly verification: VerificationStatus | undefined;
  /** Oldest first; of each problem as many as the collector lists. */
  readonly oldest: readonly ProblemRangeStatus[];
  readonly hottest: readonly HotRangeStatus[];
}

/** A number that a scan read, and the last count of the nodes. */
type ReadAndCounted = Readonly<Record<'read' | 'counted', number>>;

/** The last scan beside the counts of the nodes that were read, for information. */
export interface ScanCheck {
  readonly replicas: ReadAndCounted;
  /** A node counts valid leases, and a scan reads the last known ones. Undefined where a node does not count them. */
  readonly leases: ReadAndCounted | undefined;
  /** Nodes that were read, without current counts: they are not in the numbers. */
  readonly uncountedNodes: number;
}

/** How far a scan proves that no range is missing, and which replicas vote. */
export interface VerificationStatus {
  /** Ranges whose replicas are not verified: which nodes may stop is not known while there are some. */
  readonly unverified: number;
  /** Why they are not, and until when. */
  readonly reason: string | undefined;
  /** Descriptors of ranges that are to be read now, and how many are read in a minute. */
  readonly due: number;
  readonly perMinute: number | undefined;
  /** Whether the server gives descriptors. */
  readonly descriptors: 'read' | 'refused' | 'disabled';
  /**
   * complete: no range is missing. overlap: nothing is missing if all ranges without `overlapping` are real. gap: three scans in
   * a row ended with the same gap.
   */
  readonly keySpace: 'complete' | 'overlap' | 'incomplete' | 'gap';
  /** Ranges that serve nothing now; undefined while it is not known whether there are any. */
  readonly servingNothing: number | undefined;
  /** It is a lower bound: more replicas report it than are asked a second time. */
  readonly servingNothingAtLeast?: true | undefined;
  /** Part of `servingNothing`: ranges that are neither without a quorum nor reported as unavailable. */
  readonly stuck: number;
  /** Ranges with replicas that a merge left behind: they serve no key. */
  readonly leftOver: readonly HeldRangeStatus[];
  /** Ranges without which the others join, while it is not known which of them are real. */
  readonly overlapping: readonly HeldRangeStatus[];
  /** URLs that list all ranges of a node where some are asked for, so that none can be read a second time there. */
  readonly ignoringUrls?: readonly string[] | undefined;
  /** Ranges that no live node reports; undefined while it is not known. */
  readonly lost: number | undefined;
}

/** A range and the nodes that report it. */
interface HeldRangeStatus extends Pick<RangeStatus, 'rangeId' | 'table' | 'index'> {
  readonly nodeIds: readonly number[];
}

export interface RangeStatus {
  readonly rangeId: number;
  /** The node that reports a problem need not be its cause. */
  readonly nodeId: number;
  readonly storeId: number | undefined;
  /** `movr.public.rides` where the tables collector knows the name, else the id; empty outside of tables. */
  readonly table: string;
  readonly index: string;
  /** The last table of a range that small tables share, as `table`. */
  readonly lastTable?: string | undefined;
}

export interface ProblemRangeStatus extends RangeStatus {
  readonly problem: string;
  readonly firstSeenAt: string;
  /** The nodes of its last descriptor, voters first; only of a range without a live replica. */
  readonly lastNodes?: readonly number[] | undefined;
  /** Only nodes without its lease report it as unavailable. */
  readonly isDisputed?: true | undefined;
}

export interface HotRangeStatus extends RangeStatus {
  readonly queriesPerSecond: number;
  readonly writesPerSecond: number | undefined;
  readonly cpuSecondsPerSecond: number | undefined;
}

export interface TableStatus {
  readonly id: string;
  readonly name: string | undefined;
  readonly ranges: number;
  readonly queriesPerSecond: number;
  readonly writesPerSecond: number;
  readonly cpuSecondsPerSecond: number | undefined;
  readonly sizeBytes: number | undefined;
}

/** Whose requests fail or wait: tables with ranges that have no quorum or no live replica. */
export interface TablesWithoutQuorum {
  readonly tables: readonly Pick<TableStatus, 'id' | 'name' | 'ranges'>[];
  /** Ranges outside of tables. */
  readonly otherRanges: number;
  /** Ranges whose table is not known: they may belong to any. */
  readonly unnamedRanges: number;
  /** Part of all these ranges: those that no node reports as unavailable. Their descriptors show that no majority is live. */
  readonly unreportedRanges: number;
}

/** The ranges that depend on a node or on a locality: what would happen to them if it stopped now. */
export interface DependentRanges {
  /** `node 3` or `region=us-east1,zone=b`. */
  readonly name: string;
  readonly quorum: number;
  readonly lastReplica: number;
  /** Ranges that have no quorum now and a live replica on the node; absent for a locality. */
  readonly withoutQuorum?: number | undefined;
}

/** Which nodes of a cluster may stop now, one at a time. */
export interface SafeToStopStatus {
  /** yes: one of `nodes` may stop. no: none may, for `reason`. unknown: nobody can tell, for `reason`. */
  readonly answer: 'yes' | 'no' | 'unknown';
  readonly nodes: readonly number[];
  readonly reason?: string | undefined;
  /** The live nodes that the scan read, ascending; none while the scan proves nothing. */
  readonly decisions: readonly StopDecision[];
}

/** Whether one node may stop; the reason follows `Node 3 may not stop: ` or `Not known: `. */
export interface StopDecision {
  readonly nodeId: number;
  readonly answer: SafeToStopStatus['answer'];
  readonly reason?: string | undefined;
}

/** Sessions by state. */
export type SessionCounts = Readonly<Record<'active' | 'idleInTransaction' | 'idle', number>>;

/** The sessions of a cluster. */
export interface SessionsStatus extends SessionCounts {
  readonly missingNodes: readonly number[];
  /** The applications by name and user, as on /metrics; oldest transaction first. */
  readonly applications: readonly ApplicationStatus[];
}

export interface ApplicationStatus extends SessionCounts {
  readonly application: string;
  readonly user: string;
  readonly openTransactions: number;
  /** At the time of the poll; 0 without open transactions. */
  readonly oldestTransactionSeconds: number;
  readonly oldestIdleTransactionSeconds: number;
}

/** The migration assistant; all but `exists` is absent when there is none. */
export interface AssistantStatus {
  readonly exists: boolean;
  readonly status: string | undefined;
  readonly health: string | undefined;
  readonly region: string | undefined;
  readonly statusSince: string | undefined;
}

/** Why a poll or a query failed, as page and JSON show it. */
export interface ShownError {
  readonly reason: FailureReason;
  readonly message: string;
  /** The remedy as sentences. */
  readonly advice: string;
}

/** A query of the user as page and JSON show it. */
export interface QueryStatus extends Omit<QueryState, 'failure' | 'hasRows'> {
  readonly error: ShownError | undefined;
}

/** A collector as page and JSON show it. */
export interface CollectorStatus extends Omit<CollectorState, 'failure' | 'isOld'> {
  readonly error: ShownError | undefined;
}

import { type Api, type Clock, type OptionSpecs, type OptionValues, SYSTEM_CLOCK } from '#base';
import type { CloudApi, ClusterApi, PollStats, RequestError } from '#cockroach';
import {
  type Family,
  type FamilyDefinition,
  gauge,
  type OwnDefinition,
  type SampleSet,
} from '#metrics';

/** One poll, with what its collector needs besides the API. */
export interface CollectorPoll<Options, State> extends PollStats {
  readonly options: Options;
  /** What the collector keeps from poll to poll; once another cluster answers, that is a new and empty object. */
  readonly state: State;
  /** Value of the label `shard`. */
  readonly shard: string;
  /** `onlyNode`: a command reads the ranges of this node alone. */
  readonly shards: {
    readonly index: number;
    readonly count: number;
    readonly onlyNode?: number | undefined;
  };
  readonly clock: Clock;
  /** The configured interval of the collector, and the configured age at which its data is no longer exported. */
  readonly intervalSeconds: number;
  readonly maxAgeSeconds: number | undefined;
  /** Maximum share of time in which responses are prepared and received. */
  readonly maxDuty: number;
  /** Which descriptors of ranges are read: those that are due, none, or, for a command that decides, all of them afresh. */
  readonly descriptors: 'due' | 'none' | 'all';
  /** Number of configured URLs. */
  readonly urls: number;
  /** Index of the URL that a list of nodes begins with; a command that compares two lists reads them at different URLs. */
  readonly firstUrl: number;
  /** Ids of the tables that the latest results of other collectors name. */
  readonly namedTables: () => ReadonlySet<string>;
  /** Reports the progress of a scan, in nodes, and then of reading all descriptors, in requests. */
  readonly scanProgress: (done: number, planned: number) => void;
}

/** A poll with what its collector needs. What is not chosen is as for the only exporter of a cluster with one URL. */
export function collectorPoll<Options, State>(
  poll: PollStats,
  chosen: Pick<CollectorPoll<Options, State>, 'options' | 'state'> &
    Partial<CollectorPoll<Options, State>>,
): CollectorPoll<Options, State> {
  return {
    ...poll,
    shard: '0',
    shards: { index: 0, count: 1 },
    clock: SYSTEM_CLOCK,
    intervalSeconds: 60,
    maxAgeSeconds: undefined,
    maxDuty: 1,
    descriptors: 'due',
    urls: 1,
    firstUrl: 0,
    namedTables: () => new Set(),
    scanProgress: () => undefined,
    ...chosen,
  };
}

/** Members that every result may have beside its data. */
export interface CollectorResult {
  /** The poll failed, but what it found is published. */
  readonly failure?: RequestError | undefined;
  /** What failed beside `failure`, also of a poll that succeeded: counted by reason as failed polls are. */
  readonly partFailures?: readonly RequestError[];
  /** Why a poll that succeeded has no data: `the server does not offer it`. Logged when it begins. */
  readonly noData?: string | undefined;
  /** Ids of the tables that it names, so that the tables collector exports their names. */
  readonly tableIds?: readonly string[];
}

/** How much longer than its interval data is shown at most, seconds. */
const MAX_GRACE_SECONDS = 600;

/** Age beyond which data is no longer shown unless `max_age` is set: three intervals, but at most one and ten minutes. */
export function defaultMaxAgeSeconds(intervalSeconds: number): number {
  return intervalSeconds + Math.min(2 * intervalSeconds, MAX_GRACE_SECONDS);
}

/** The first of the failures with the reason that most of them have. Example: of timeout, auth and auth the second. */
export function mostFrequent(failures: readonly RequestError[]): RequestError | undefined {
  const byReason = [...Map.groupBy(failures, ({ reason }) => reason).values()];
  return byReason.toSorted((a, b) => b.length - a.length)[0]?.[0];
}

/** The API that a collector polls. */
export type PolledApi<A extends Api> = A extends 'cluster' ? ClusterApi : CloudApi;

/** Everything that the rest of the program needs from a collector. */
export interface CollectorOf<A extends Api, Options, State, Result extends CollectorResult> {
  readonly name: string;
  readonly api: A;
  readonly help: string;
  /** The request that it sends, as the reference shows it: `GET /nodes/`. */
  readonly request: string;
  /** The privilege that the user of the API needs, as the SQL statement or role to grant: `GRANT SYSTEM VIEWCLUSTERMETADATA`. */
  readonly privilege: string;
  /** The requests of one poll, and what they cost the cluster, for docs/load.md. */
  readonly load: { readonly requests: string; readonly cost: string };
  /** Work per cluster is done by shard 0; work per node is divided among the shards. */
  readonly scope: 'cluster' | 'node';
  /** Whether /probe runs it by default. */
  readonly inProbe: boolean;
  readonly intervalSeconds: number;
  /** Maximum duration of a whole poll. */
  readonly timeoutSeconds: number;
  /** Maximum share of time in which responses are prepared and received. */
  readonly maxDuty: number;
  readonly enabledByDefault: boolean;
  readonly families: readonly Family[];
  readonly options: OptionSpecs;
  /** True when these options leave nothing to poll: the collector is not scheduled. */
  isIdle?(options: Options): boolean;
  /** True when these options confine the work to the node beside the exporter, which is then a shard of its own. */
  isLocal?(options: Options): boolean;
  /**
   * Whether a family of the options `before` may be exported after a reload until the first poll with these options. Without
   * this method all may.
   */
  keepsFamily?(name: string, options: Options, before: Options): boolean;
  createState(): State;
  /** Queries the API and returns what it found; rejects when that is nothing useful. */
  collect(api: PolledApi<A>, context: CollectorPoll<Options, State>): Promise<Result>;
  /**
   * Works between two polls, until the signal of this context aborts, within its own share of the time. Never rejects; what
   * it finds is in the state.
   */
  workBetweenPolls?(api: PolledApi<A>, context: CollectorPoll<Options, State>): Promise<void>;
  /** Writes a result as samples. A generator may yield where other work can run. */
  samples(result: Result, set: SampleSet): Iterable<unknown> | void;
  /**
   * Writes what is exported at all times; `result` is undefined before the first poll has ended, and while polls fail.
   */
  lastingSamples?(
    result: Result | undefined,
    set: SampleSet,
    poller: { readonly options: Options; readonly shard: string },
  ): void;
}

/** A collector by its API and its result: what its options and its state are does not matter. */
export type CollectorWith<A extends Api, R extends CollectorResult> = CollectorOf<
  A,
  unknown,
  unknown,
  R
>;

export type Collector =
  | CollectorWith<'cluster', CollectorResult>
  | CollectorWith<'cloud', CollectorResult>;

/** Declares a collector; the types of its options follow from their specs. */
export function defineCollector<
  A extends Api,
  const S extends OptionSpecs,
  State,
  Result extends CollectorResult,
>(
  definition: Omit<CollectorOf<A, OptionValues<S>, State, Result>, 'options'> & {
    readonly options: S;
  },
): CollectorOf<A, OptionValues<S>, State, Result> {
  return definition;
}

/**
 * Declares gauges that are alike but for their value, each with the function that reads it from what the gauge is about:
 * a store, an application, a table … The notes of `shared` come before those of a gauge.
 */
export function gaugeOf<const L extends string>(shared: Partial<FamilyDefinition<L>>) {
  return <Source>(
    value: (source: Source) => number | undefined,
    { notes, ...definition }: OwnDefinition,
  ) => {
    const allNotes = [shared.notes, notes].filter(Boolean).join(' ');
    return { value, family: gauge({ ...shared, ...definition, notes: allNotes }) };
  };
}

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
  /** The collector keeps this object from poll to poll. It is a new and empty one once another cluster answers. */
  readonly state: State;
  /** `onlyNode`: a command reads the ranges of this node alone. */
  readonly shards: {
    readonly index: number;
    readonly count: number;
    readonly onlyNode?: number | undefined;
  };
  readonly clock: Clock;
  /** The configured interval of the collector. */
  readonly intervalSeconds: number;
  /** The configured `max_age`; undefined: `defaultMaxAgeSeconds`. */
  readonly maxAgeSeconds: number | undefined;
  /** The configured `max_duty`, above 0 to 1: the maximum share of time in which responses are prepared and received. */
  readonly maxDuty: number;
  /** Which descriptors of ranges are read: those that are due, none, or, for a command that decides, all of them afresh. */
  readonly descriptors: 'due' | 'none' | 'all';
  /** Number of configured URLs. */
  readonly urls: number;
  /** Index of the URL that a list of nodes begins with; a command that compares two lists reads them at different URLs. */
  readonly firstUrl: number;
  /** Ids of the tables that the latest results of other collectors name. */
  readonly namedTables: () => ReadonlySet<string>;
  /** Reports the progress of a scan in nodes, then the progress of reading all descriptors in requests. */
  readonly scanProgress: (done: number, planned: number) => void;
}

/**
 * Makes the context of a poll. `chosen` replaces the defaults, which are those of one exporter without shards, of a cluster with
 * one URL, with an interval of 60 s.
 */
export function collectorPoll<Options, State>(
  poll: PollStats,
  chosen: Pick<CollectorPoll<Options, State>, 'options' | 'state'> &
    Partial<CollectorPoll<Options, State>>,
): CollectorPoll<Options, State> {
  return {
    ...poll,
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
  /**
   * Failures of parts of the poll, without `failure`. A poll that succeeded may have some. Each counts in
   * `crdb_exporter_poll_failures_total` by its reason.
   */
  readonly partFailures?: readonly RequestError[];
  /** Why a poll that succeeded has no data: `the server does not offer it`. Logged when it begins. */
  readonly noData?: string | undefined;
  /** Ids of the tables that the result names. The collector `tables` exports their names. */
  readonly tableIds?: readonly string[];
}

/** Data is shown for at most this time beyond one interval. */
const MAX_GRACE_SECONDS = 600;

/**
 * The age in seconds beyond which data is no longer shown, unless `max_age` is set: three intervals, at most one interval and
 * ten minutes. Examples: 90 s with an interval of 30 s, and 20 min with one of 10 min.
 */
export function defaultMaxAgeSeconds(intervalSeconds: number): number {
  return intervalSeconds + Math.min(2 * intervalSeconds, MAX_GRACE_SECONDS);
}

/**
 * Finds the reason that most failures have, and returns the first failure with that reason; undefined without failures. Example:
 * of timeout, auth and auth the first auth.
 */
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
  /** The default of `interval`. */
  readonly intervalSeconds: number;
  /** The default of `timeout`: the maximum duration of a whole poll. */
  readonly timeoutSeconds: number;
  /** The default of `max_duty`, above 0 to 1. */
  readonly maxDuty: number;
  readonly enabledByDefault: boolean;
  readonly families: readonly Family[];
  readonly options: OptionSpecs;
  /** True when these options leave nothing to poll: the collector is not scheduled. */
  isIdle?(options: Options): boolean;
  /** True when these options confine the work to the node beside the exporter, which is then a shard of its own. */
  isLocal?(options: Options): boolean;
  /**
   * Whether this family of the last result stays in /metrics after a reload that changed the options from `before` to
   * `options`, until the first poll with the new ones. Without this method all families stay.
   */
  keepsFamily?(name: string, options: Options, before: Options): boolean;
  /** Makes the empty `state` of a cluster. */
  createState(): State;
  /**
   * Queries the API and returns the result. Rejects when the poll found nothing useful, with the RequestError of the client
   * where a request failed. A partial result has `failure` instead.
   */
  collect(api: PolledApi<A>, context: CollectorPoll<Options, State>): Promise<Result>;
  /**
   * Works between two polls, until the signal of this context aborts, within its own share of the time. Writes what it finds
   * into the state. Never rejects.
   */
  workBetweenPolls?(api: PolledApi<A>, context: CollectorPoll<Options, State>): Promise<void>;
  /** Writes a result as samples; `shard` is the value of that label. In a generator, other work runs at each `yield`. */
  samples(result: Result, set: SampleSet, shard: string): Iterable<unknown> | void;
  /**
   * Writes the samples that are exported at all times. `result` is undefined before the first poll has ended, and while the
   * last poll has failed or was skipped.
   */
  lastingSamples?(
    result: Result | undefined,
    set: SampleSet,
    poller: { readonly options: Options; readonly shard: string },
  ): void;
}

/** A collector by its API and its result, with any options and state. */
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

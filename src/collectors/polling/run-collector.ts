import { type Api, beginDeadline, type Clock } from '#base';
import { ClusterApi, createPollStats, type PollStats, RequestError } from '#cockroach';
import { type ClusterConfig, collectorOptions } from '#config';
import {
  type CollectorOf,
  type CollectorPoll,
  collectorPoll,
  type CollectorResult,
  type PolledApi,
} from '../collector.ts';

/** What a collector keeps of one cluster from poll to poll. */
export class KeptState<State> {
  readonly #collector: { createState(): State };
  /** Read this property at each use: it is a new object once another cluster answers. */
  current: State;

  constructor(collector: { createState(): State }) {
    this.#collector = collector;
    this.current = collector.createState();
  }

  clear(): void {
    this.current = this.#collector.createState();
  }
}

/** Overrides for polls of commands, of /probe and of shards; `options` in place of the configured ones. */
export type ChosenPoll<Options> = Partial<
  Omit<CollectorPoll<Options, never>, keyof PollStats | 'state' | 'clock' | 'urls'>
>;

/** What a poll of a collector needs besides its API and its state. */
interface PollSettings<Options> {
  readonly config: Pick<ClusterConfig, 'collectors' | 'cluster_api'>;
  readonly clock: Clock;
  /** Ends the poll: the process stops, or the command is cancelled. */
  readonly stop: AbortSignal;
  readonly chosen?: ChosenPoll<Options> | undefined;
}

/** A poll that has begun. */
export interface RunningPoll<Result> {
  /** What it has received so far. */
  readonly stats: PollStats;
  readonly result: Promise<Result>;
  /** Why the result may be of two clusters, or of one that has been replaced since; undefined while no other poll has noticed another one. */
  readonly clusterFailure: () => RequestError | undefined;
}

/**
 * Polls once, for the exporter, /probe and every command: with the options of the configuration, until the timeout of the
 * collector. The result rejects as the collector does, and when the poll may have read two clusters. A poll that reads all descriptors
 * afresh has no timeout: somebody waits for the decision, and can cancel it. Default of `state`: an empty one, of this poll alone.
 */
export function runCollector<A extends Api, Options, State, Result extends CollectorResult>(
  collector: CollectorOf<A, Options, State, Result>,
  api: PolledApi<A>,
  settings: PollSettings<Options> & { readonly state?: KeptState<State> },
): RunningPoll<Result> {
  const { config, clock, stop, state = new KeptState(collector), chosen } = settings;
  const seconds = config.collectors[collector.name]?.timeout;
  const timeoutMs = chosen?.descriptors === 'all' || !seconds ? undefined : seconds * 1000;
  const deadline = timeoutMs === undefined ? undefined : beginDeadline(timeoutMs, stop);
  const signal = deadline?.signal ?? stop;
  const startMs = clock.runningMs();
  const leftMs = (): number => startMs + (timeoutMs ?? Infinity) - clock.runningMs();
  const poll = createPoll(collector, settings, state, createPollStats(signal, leftMs));
  const listings = api instanceof ClusterApi ? api.listings : undefined;
  const before = listings?.noticedBy;
  // Example: a poll of nodes lists another cluster at 10 s. Its whole list is of the new cluster, so the list is published. A scan
  // from 5 s to 40 s has read nodes of both clusters, so it fails.
  const clusterFailure = (): RequestError | undefined => {
    if (listings?.alternation !== undefined) return listings.alternation;
    const noticedBy = listings?.noticedBy;
    if (noticedBy === before || noticedBy === poll.pollId) return undefined;
    return new RequestError('other', 'the cluster was replaced during the poll', {
      remedy:
        'if this repeats, check that the URLs lead to one cluster; else the next poll is right',
    });
  };

  async function collect(): Promise<Result> {
    using _deadline = deadline;
    try {
      const result = await collector.collect(api, poll);
      const failure = clusterFailure();
      if (failure === undefined) return result;
      throw failure;
    } finally {
      if (clusterFailure() !== undefined) state.clear();
      if (signal.aborted && !stop.aborted) poll.limits.add('duration');
    }
  }

  return { stats: poll, result: collect(), clusterFailure };
}

/** Runs the work of a collector between two polls, until `stop` aborts. */
export async function workBetweenPolls<A extends Api, Options, State>(
  collector: CollectorOf<A, Options, State, CollectorResult>,
  api: PolledApi<A>,
  settings: PollSettings<Options> & { readonly state: KeptState<State> },
): Promise<void> {
  await collector.workBetweenPolls?.(
    api,
    createPoll(collector, settings, settings.state, createPollStats(settings.stop)),
  );
}

function createPoll<Options, State>(
  collector: CollectorOf<Api, Options, State, CollectorResult>,
  { config, clock, chosen }: PollSettings<Options>,
  state: KeptState<State>,
  stats: PollStats,
): CollectorPoll<Options, State> {
  const configured = config.collectors[collector.name];
  const poll = collectorPoll(stats, {
    options: collectorOptions(config, collector),
    state: state.current,
    clock,
    intervalSeconds: configured?.interval ?? collector.intervalSeconds,
    maxAgeSeconds: configured?.max_age,
    maxDuty: configured?.max_duty ?? 1,
    urls: config.cluster_api?.urls.length ?? 1,
    ...chosen,
  });
  return {
    ...poll,
    get state() {
      return state.current;
    },
  };
}

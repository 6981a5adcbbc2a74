import { SYSTEM_CLOCK } from '../../src/base/clock.ts';
import { inSlices } from '../../src/base/time-slice.ts';
import type { ApiLogin } from '../../src/cockroach/api-login.ts';
import { ClusterApi } from '../../src/cockroach/cluster-api.ts';
import type { RequestError } from '../../src/cockroach/http/errors.ts';
import { createPollStats, warningText } from '../../src/cockroach/http/poll-stats.ts';
import {
  collectorPoll,
  type CollectorPoll,
  type CollectorResult,
} from '../../src/collectors/collector.ts';
import { SampleSet } from '../../src/metrics/sample-set.ts';
import { renderFamilies } from '../../src/metrics/snapshot.ts';

/** Answers a path below /api/v2, and the body of a POST, with a document, or throws what the request would fail with. */
export type Answer = (path: string, body: string | undefined) => unknown;

interface AnsweringApi {
  readonly api: ClusterApi;
  /** Paths of the requests so far. */
  readonly requests: readonly string[];
}

/** The cluster API over documents in memory: real paths, paging and decoding, no socket. A second response has the second date. */
export function answering(answer: Answer, ...datesMs: readonly number[]): AnsweringApi {
  const requests: string[] = [];
  const textOf = (path: string, sent: string | undefined): Buffer => {
    requests.push(path);
    const body = answer(path, sent);
    return Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body));
  };
  const session: Pick<ApiLogin, 'send'> = {
    async send({ path, body, onHeaders, onChunks, onEnd }) {
      const dateMs = datesMs[requests.length] ?? datesMs.at(-1);
      const response = { status: 200, url: 'memory', sentMs: 0, arrivedMs: 0, dateMs };
      onHeaders?.(response);
      onChunks([textOf(path, body)]);
      return onEnd(response);
    },
  };
  return { api: new ClusterApi(session, () => undefined), requests };
}

interface PolledCollector<Api, Options, State, Result extends CollectorResult> {
  createState(): State;
  collect(api: Api, context: CollectorPoll<Options, State>): Promise<Result>;
  samples(result: Result, set: SampleSet, shard: string): Iterable<unknown> | void;
}

export interface Polled {
  readonly failure: RequestError | undefined;
  readonly warnings: readonly string[];
  readonly limits: ReadonlySet<string>;
  /** Sample lines, in the order of writing. */
  readonly lines: readonly string[];
  /** Lines of one family, without its name. */
  readonly of: (family: string) => readonly string[];
  readonly samples: SampleSet;
}

/** Polls once as the poller would, with this state and these options. */
export async function poll<Api, Options, State, Result extends CollectorResult>(
  collector: PolledCollector<Api, Options, State, Result>,
  api: Api,
  given: {
    readonly options: Options;
    readonly state: State;
    readonly nowMs?: number;
    /** In place of `nowMs`, where the wall clock is set. */
    readonly monotonicMs?: number;
    readonly namedTables?: readonly string[];
    readonly signal?: AbortSignal;
    /** How long the poll may still take. */
    readonly leftMs?: () => number;
  },
): Promise<Polled & { readonly result: Result }> {
  const samples = new SampleSet({});
  const { options, state, nowMs = 0, monotonicMs = nowMs, leftMs, namedTables } = given;
  const signal = given.signal ?? AbortSignal.timeout(20_000);
  const stats = createPollStats(signal, leftMs);
  const chosen = {
    options,
    state,
    clock: { ...SYSTEM_CLOCK, wallMs: () => nowMs, monotonicMs: () => monotonicMs },
    namedTables: () => new Set(namedTables),
  };
  const result = await collector.collect(api, collectorPoll(stats, chosen));
  const steps = collector.samples(result, samples, '0');
  if (steps !== undefined) await inSlices(steps[Symbol.iterator]());
  const { failure } = result;
  const lines = renderFamilies(samples)
    .flatMap((rendered) => rendered.lines.toString().split('\n'))
    .filter((line) => line !== '');
  return {
    result,
    failure,
    warnings: Array.from(stats.warnings.values(), warningText),
    limits: stats.limits,
    lines,
    samples,
    of: (family) => linesOf(lines, family),
  };
}

function linesOf(lines: readonly string[], family: string): readonly string[] {
  return lines
    .filter((line) => line.startsWith(`${family}{`) || line.startsWith(`${family} `))
    .map((line) => line.slice(family.length).trim());
}

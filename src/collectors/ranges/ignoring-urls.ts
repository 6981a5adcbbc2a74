import { formatList, plural } from '#base';
import { addWarning, type ClusterApi, failureOf, type PollStats, RequestError } from '#cockroach';
import { type Replica, replicaShape } from './replica.ts';

const HOUR_MS = 3_600_000;
/** The first range that every cluster creates. A node that does not have it responds with an empty list, which is an answer, too. */
const ANY_RANGE_ID = 1;

/** A URL ignores `ranges=`: its response lists ranges that were not asked for. */
export class RangesIgnoredError extends RequestError {
  /** The index of the URL. */
  readonly urlIndex: number;
  readonly urlName: string;

  constructor(urlName: string, urlIndex = -1) {
    super('decode', `${urlName} ignores \`ranges=\`: it lists all ranges of a node`, {
      blames: 'nobody',
    });
    this.urlIndex = urlIndex;
    this.urlName = urlName;
  }
}

/** Reads these ranges of a node, at one URL. Rejects with a RangesIgnoredError at the first one that was not asked for. */
export async function readSingleRanges(
  api: ClusterApi,
  stats: PollStats,
  request: {
    readonly nodeId: number;
    readonly rangeIds: readonly number[];
    readonly firstUrl?: number;
    readonly onlyUrl?: number;
  },
  onReplica: (rangeId: number, replica: Replica) => void,
): Promise<void> {
  const asked = new Set(request.rangeIds);
  let [index, name] = [0, ''];
  await api.nodeRanges(stats, {
    ...request,
    route: 'gateway',
    shape: replicaShape,
    onHeaders(response) {
      [index, name] = [response.urlIndex ?? 0, response.url];
    },
    onRange(replica) {
      const rangeId = replica.desc.range_id ?? 0;
      if (rangeId !== 0 && !asked.has(rangeId)) throw new RangesIgnoredError(name, index);
      onReplica(rangeId, replica);
    },
  });
}

/** Asks each URL for one range of the node. Returns the names of the URLs that ignore `ranges=`, or rejects where none answers. */
export async function findIgnoringUrls(
  api: ClusterApi,
  stats: PollStats,
  nodeId: number,
  urls: number,
): Promise<readonly string[]> {
  const names: string[] = [];
  const failures: RequestError[] = [];
  for (let onlyUrl = 0; onlyUrl < urls; onlyUrl += 1) {
    try {
      const rangeIds = [ANY_RANGE_ID];
      await readSingleRanges(api, stats, { nodeId, rangeIds, onlyUrl }, () => undefined);
    } catch (error) {
      if (error instanceof RangesIgnoredError) names.push(error.urlName);
      else failures.push(failureOf(error));
    }
  }
  const [failure] = failures;
  if (failure !== undefined && failures.length === urls) throw failure;
  return names;
}

/** Says of these URLs: `crdb-1:8080 ignores ranges= and lists all ranges of a node`. */
export function describeIgnoring(urls: readonly string[]): string {
  const ignore = plural(urls.length, 'ignores', 'ignore');
  const list = plural(urls.length, 'lists', 'list');
  return `${formatList(urls)} ${ignore} \`ranges=\` and ${list} all ranges of a node`;
}

/**
 * The URLs whose server, or a proxy before it, ignores `ranges=` and lists every range of a node: some tens of megabytes where a few kB
 * are asked for. For an hour they are asked for whole lists only.
 */
export class IgnoringUrls {
  readonly #urls = new Map<number, { readonly name: string; readonly untilMs: number }>();

  add(index: number, name: string, nowMs: number): void {
    this.#urls.set(index, { name, untilMs: nowMs + HOUR_MS });
  }

  /** The names of these URLs. */
  names(nowMs: number): readonly string[] {
    for (const [index, { untilMs }] of this.#urls) if (untilMs <= nowMs) this.#urls.delete(index);
    return Array.from(this.#urls.values(), ({ name }) => name).toSorted();
  }

  /** Which URL may be asked for single ranges: any, beginning with one, or only one; undefined for none. `start` may be any number. */
  choose(
    urls: number,
    start: number,
    nowMs: number,
  ): { readonly firstUrl: number } | { readonly onlyUrl: number } | undefined {
    if (this.names(nowMs).length === 0) return { firstUrl: start % urls };
    const others = Array.from({ length: urls }, (_, index) => index).filter(
      (index) => !this.#urls.has(index),
    );
    const onlyUrl = others[start % others.length];
    return onlyUrl === undefined ? undefined : { onlyUrl };
  }
}

/** One warning for all URLs: the same proxy is before them. */
export function warnIgnored(stats: Pick<PollStats, 'warnings'>, urls: readonly string[]): void {
  if (urls.length === 0) return;
  const error = new RequestError('decode', describeIgnoring(urls), {
    remedy:
      'single ones are not asked for there for an hour; look for a proxy that drops the query of requests',
  });
  addWarning(stats, { about: 'single ranges', endpoint: 'node_ranges', error });
}

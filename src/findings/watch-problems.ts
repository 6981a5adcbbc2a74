import type { Poller } from '../polling/poller.ts';
import type { Api, FailureReason } from '../vocabulary.ts';

/** Something that is wrong with watching a cluster, as the log and the page say it once. */
export interface WatchProblem {
  /** The same for as long as it lasts. */
  readonly key: string;
  readonly message: string;
  readonly remedy?: string | undefined;
  /** Why polls fail; undefined while they succeed in spite of the problem. */
  readonly reason?: FailureReason | undefined;
  readonly api?: Api | undefined;
  /** The collectors whose polls it concerns. */
  readonly affects: readonly string[];
}

/** A problem that fails no poll, with its start. */
export interface WatchWarning extends Pick<WatchProblem, 'key' | 'message' | 'remedy'> {
  /** Wall clock, ms. */
  readonly sinceMs: number;
}

type PolledCollector = Pick<Poller, 'collector' | 'outcome'>;

/**
 * The causes of failed polls, however many collectors fail of one: those with the same reason and remedy. A poll that an
 * open circuit breaker stopped has the cause that it had before. Example: nodes and sessions are refused connections, which
 * is one problem; then sessions is skipped, and the problem stays with both of them.
 */
export function failedPolls(
  pollers: readonly PolledCollector[],
  previous: readonly WatchProblem[],
): readonly WatchProblem[] {
  const found = new Map<string, WatchProblem>();
  const failing = pollers.flatMap(({ collector: { name, api }, outcome: { error } }) =>
    error === undefined ? [] : { name, api, error },
  );
  const isBlocked = ({ error }: (typeof failing)[number]) => error.reason === 'breaker_open';
  for (const poll of failing.toSorted((a, b) => Number(isBlocked(a)) - Number(isBlocked(b)))) {
    const { name, api, error } = poll;
    const { message, remedy, reason } = error;
    const cause = (remedy ?? message).replaceAll(/\d+/g, 'N');
    const key = `${api} ${reason} ${cause}`;
    const problem = found.get(key) ??
      (isBlocked(poll) ? causeOf(poll, [...found.values(), ...previous]) : undefined) ?? {
        key,
        message,
        remedy,
        reason,
        api,
        affects: [],
      };
    const { affects } = found.get(problem.key) ?? { affects: [] };
    found.set(problem.key, { ...problem, affects: [...affects, name] });
  }
  return [...found.values()];
}

function causeOf(
  { name, api }: { readonly name: string; readonly api: Api },
  known: readonly WatchProblem[],
): WatchProblem | undefined {
  const causes = known.filter((problem) => problem.api === api && problem.reason !== undefined);
  return causes.find(({ affects }) => affects.includes(name)) ?? causes[0];
}

/** What the last polls warned of. */
export function pollWarnings(pollers: readonly PolledCollector[]): readonly WatchProblem[] {
  return pollers.flatMap(({ collector: { name }, outcome: { warnings = [] } }) =>
    [...warnings].map((message) => ({ key: `${name}: ${message}`, message, affects: [name] })),
  );
}

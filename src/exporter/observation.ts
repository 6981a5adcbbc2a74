import type { AlertName } from '#alerts';
import type { Api, Limit, Severity } from '#base';
import type { UrlState } from '#cockroach';
import type { CollectorResult, CollectorWith, Poller, PollFailure, QueryRow } from '#collectors';
import type { ClusterConfig } from '#config';

/** What the exporter knows of a configured cluster: its configuration, the results and outcomes of its polls, its URLs. */
export interface Observation {
  readonly name: string;
  readonly config: ClusterConfig;
  /** A new symbol once another cluster has taken over the addresses. */
  readonly identity: symbol;
  readonly pollers: readonly Poller[];
  readonly upstreams: (api: Api) => readonly UrlState[];
  /** The last result of a collector; undefined while it is too old to be shown. */
  result<R extends CollectorResult>(collector: CollectorWith<Api, R>): R | undefined;
  /** The last result of a collector, however old. */
  lastResult<R extends CollectorResult>(collector: CollectorWith<Api, R>): R | undefined;
  /** Undefined before the first poll. */
  isUp(api: Api): boolean | undefined;
  /** The problems of watching this cluster now, each with its start; `nowMs` is the wall clock. */
  problems(nowMs: number): readonly WatchProblem[];
}

/** A problem of watching a cluster, or of the exporter itself: a poll, a URL, a query, or a file fails. */
export interface WatchProblem {
  /** The key stays the same for as long as the problem lasts. */
  readonly key: string;
  readonly about: 'exporter';
  /** The alert with the same condition, whose severity it has. */
  readonly alert?: AlertName | undefined;
  /** The severity without an alert, or the severity of a second alert with the same name. */
  readonly level?: Severity | undefined;
  readonly text: string;
  /** The next step; commands are in backquotes. */
  readonly next: string;
  /** RFC 3339. */
  readonly since: string;
  /** Why polls fail. */
  readonly cause?: PollFailure | undefined;
  /** The failed polls, `cause` first. */
  readonly failures?: readonly PollFailure[] | undefined;
  /** The collectors whose polls it concerns: such a problem is logged when it begins and when it ends. */
  readonly affects?: readonly string[] | undefined;
  /** The API that is down for this cause, so that nothing is known of the cluster. */
  readonly downApi?: Api | undefined;
}

/** A query of the user by its last run. */
export interface QueryState {
  readonly name: string;
  readonly state: 'waiting' | 'ok' | 'failing';
  readonly lastSuccessAt: string | undefined;
  /** The duration of the last run. */
  readonly durationSeconds: number | undefined;
  /** How many rows the last run that succeeded had; `rows` has the first ones. */
  readonly rowCount: number | undefined;
  readonly rows: readonly QueryRow[] | undefined;
  readonly failure: PollFailure | undefined;
  /** Whether rows are exported, also those of an earlier run. */
  readonly hasRows: boolean;
}

/** A collector of a cluster by its poller. */
export interface CollectorState {
  /** The last poll failed and found nothing, so all data is older. A scan that could not read most nodes has found which those are. */
  readonly isOld: boolean;
  readonly name: string;
  readonly api: Api;
  readonly state: 'waiting' | 'ok' | 'failing';
  readonly isPolling: boolean;
  /** False when all data is too old to be shown. */
  readonly hasData: boolean;
  /** The data is of a failed poll: of a scan that could not read most nodes, and shows only which nodes those are. */
  readonly isPartial?: true | undefined;
  readonly lastSuccessAt: string | undefined;
  /** When the next poll begins; absent while one is running, and where only /probe polls. */
  readonly nextPollAt: string | undefined;
  /** Effective interval; longer than the configured one when polls take long. */
  readonly intervalSeconds: number;
  readonly configuredIntervalSeconds: number;
  readonly durationSeconds: number | undefined;
  readonly items: number | undefined;
  readonly bytes: number | undefined;
  readonly series: number;
  readonly limits: readonly Limit[];
  readonly failure: PollFailure | undefined;
}

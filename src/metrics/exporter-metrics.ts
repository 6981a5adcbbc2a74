import {
  collectDefaultMetrics,
  Counter,
  Histogram,
  type MetricObjectWithValues,
  type MetricValueWithName,
  Registry,
} from 'prom-client';
import {
  type Api,
  type Build,
  type Endpoint,
  FAILURE_REASONS,
  type FailureReason,
  type RetryReason,
  TLS_REFUSALS,
  type TlsRefusal,
} from '#base';
import {
  clusterFamilies,
  collectorFamilies,
  type DROP_REASONS,
  LOGIN_FAILURE_REASONS,
  POLL_SKIP_REASONS,
  processFamilies,
} from './exporter-families.ts';
import { type RenderedFamily, sampleWriter } from './exposition.ts';
import { counter, type Family, gauge, histogram } from './family.ts';
import { labelText } from './label-text.ts';
import { SampleSet } from './sample-set.ts';
import { renderFamilies } from './snapshot.ts';

interface CollectorLabels {
  readonly collector: string;
  readonly shard: string;
}

/** The exporter's own metrics. prom-client keeps counters and histograms; `label-text.ts` writes them. */
export class ExporterMetrics {
  /** A registry for the process and one for each cluster, so that forgetting a cluster forgets all of it. */
  readonly #registry = createProcessRegistry();
  readonly #connectionsDropped = countIn(this.#registry, processFamilies.connectionsDropped);
  readonly #tlsRefused = countIn(this.#registry, processFamilies.tlsRefused);
  readonly #clusters = new Map<string, ClusterMetrics>();
  readonly #buildInfo = new SampleSet({});

  constructor({ version, revision, nodeVersion, platform }: Build) {
    const labels = { version, revision, node_version: nodeVersion, platform };
    this.#buildInfo.info(processFamilies.buildInfo, labels);
    for (const reason of TLS_REFUSALS) this.#tlsRefused({ reason }, 0);
  }

  /** The metrics of one cluster; the same object every time, until it is forgotten. */
  cluster(name: string): ClusterMetrics {
    const metrics = this.#clusters.get(name) ?? new ClusterMetrics();
    this.#clusters.set(name, metrics);
    return metrics;
  }

  /** Drops all series of a removed cluster. Late reports to its old object are lost, as they should be. */
  forget(name: string): void {
    this.#clusters.delete(name);
  }

  /** Counts a connection that was refused or closed because too many were open. */
  readonly connectionDropped = (): void => this.#connectionsDropped({}, 1);

  /** Counts a client that was refused because of TLS. */
  readonly tlsRefused = (reason: TlsRefusal): void => this.#tlsRefused({ reason }, 1);

  /** Rendered for one scrape; series of collectors that are not `chosen` are left out. */
  async families(chosen: ReadonlySet<string>): Promise<readonly RenderedFamily[]> {
    const rendered = [
      ...renderFamilies(this.#buildInfo),
      ...renderMetrics(withoutUnset(await this.#registry.getMetricsAsJSON()), '', chosen),
    ];
    for (const [name, { registry }] of this.#clusters) {
      const constantLabels = labelText({ crdb_cluster: name });
      const metrics = await registry.getMetricsAsJSON();
      for (const family of renderMetrics(metrics, constantLabels, chosen)) rendered.push(family);
    }
    return rendered;
  }
}

/** The outcome of one request; reported once for each that was sent. */
export interface FinishedRequest {
  readonly endpoint: Endpoint;
  /** HTTP status, or `error` when no response came. */
  readonly code: number | 'error';
  readonly seconds: number;
  /** Decoded bytes of the response. */
  readonly bytes: number;
  /** The header Date of a response that succeeded, ms since the epoch. */
  readonly dateMs?: number | undefined;
}

/** Counters of one cluster. Its functions are handed to the parts that see the events. */
export class ClusterMetrics {
  readonly registry = new Registry();
  readonly #polls = countIn(this.registry, collectorFamilies.polls);
  readonly #pollFailures = countIn(this.registry, collectorFamilies.pollFailures);
  readonly #pollsSkipped = countIn(this.registry, collectorFamilies.pollsSkipped);
  readonly #logins = countIn(this.registry, clusterFamilies.logins);
  readonly #loginFailures = countIn(this.registry, clusterFamilies.loginFailures);
  readonly #retries = countIn(this.registry, clusterFamilies.retries);
  readonly #decodeErrors = countIn(this.registry, clusterFamilies.decodeErrors);
  readonly #dropped = countIn(this.registry, clusterFamilies.seriesDropped);
  readonly #requests = countIn(this.registry, clusterFamilies.requests);
  readonly #bodyBytes = countIn(this.registry, clusterFamilies.responseBytes);
  readonly #duration = observeIn(this.registry, clusterFamilies.requestDuration);

  /** Starts the poll counters of a collector at 0, with all reasons. */
  preparePolls(labels: CollectorLabels): void {
    this.#polls(labels, 0);
    for (const reason of FAILURE_REASONS) this.#pollFailures({ ...labels, reason }, 0);
    for (const reason of POLL_SKIP_REASONS) this.#pollsSkipped({ ...labels, reason }, 0);
  }

  /** Starts the failed logins at 0, with all reasons; a counter without labels does when it is declared. */
  prepareLogins(): void {
    for (const reason of LOGIN_FAILURE_REASONS) this.#loginFailures({ reason }, 0);
  }

  /** Starts the decode errors of the operations at 0. */
  prepareEndpoints(endpoints: readonly Endpoint[]): void {
    for (const endpoint of endpoints) this.#decodeErrors({ endpoint }, 0);
  }

  requestFinished(api: Api, { endpoint, code, seconds, bytes }: FinishedRequest): void {
    this.#requests({ api, endpoint, code: String(code) }, 1);
    this.#bodyBytes({ api, endpoint }, bytes);
    this.#duration({ api, endpoint }, seconds);
  }

  requestRetried(api: Api, endpoint: Endpoint, reason: RetryReason): void {
    this.#retries({ api, endpoint, reason }, 1);
  }

  readonly decodeErrors = (endpoint: Endpoint, count: number): void =>
    this.#decodeErrors({ endpoint }, count);

  readonly loginTried = (): void => this.#logins({}, 1);

  /** After `loginTried`. */
  loginFailed(reason: (typeof LOGIN_FAILURE_REASONS)[number]): void {
    this.#loginFailures({ reason }, 1);
  }

  /** Counts a finished poll; with a reason if it failed. */
  pollFinished(labels: CollectorLabels, failure?: FailureReason): void {
    this.#polls(labels, 1);
    if (failure !== undefined) this.pollFailed(labels, failure);
  }

  /** Counts the failure of a poll that is counted already. */
  pollFailed(labels: CollectorLabels, reason: FailureReason): void {
    this.#pollFailures({ ...labels, reason }, 1);
  }

  pollSkipped(
    labels: CollectorLabels,
    reason: (typeof POLL_SKIP_REASONS)[number],
    polls = 1,
  ): void {
    this.#pollsSkipped({ ...labels, reason }, polls);
  }

  readonly seriesDropped = (
    family: string,
    reason: (typeof DROP_REASONS)[number],
    count: number,
  ): void => this.#dropped({ family, reason }, count);
}

/** Copies the labels, because prom-client keeps the object that it receives. */
function countIn<L extends string>(registry: Registry, { name, help, labels }: Family<L>) {
  const metric = new Counter({ name, help, labelNames: labels, registers: [registry] });
  return (values: Readonly<Record<L, string>>, by: number) => metric.inc({ ...values }, by);
}

function observeIn<L extends string>(
  registry: Registry,
  { name, help, labels, buckets }: Family<L> & { readonly buckets: readonly number[] },
) {
  const shape = { labelNames: labels, buckets: [...buckets] };
  const metric = new Histogram({ name, help, ...shape, registers: [registry] });
  return (values: Readonly<Record<L, string>>, seconds: number) =>
    metric.observe({ ...values }, seconds);
}

/** The timer that measures the event loop; one of 10 ms, the default, is half of the CPU time of an idle exporter. */
const EVENT_LOOP_TIMER_MS = 20;

/** Gauges that are named like counters and rejected by `promtool check metrics`. */
const MISNAMED = ['handles', 'requests', 'resources'].map((kind) => `nodejs_active_${kind}_total`);

/** The default metrics of prom-client; some of process_ exist on Linux only. */
export function createProcessRegistry(): Registry {
  const register = new Registry();
  collectDefaultMetrics({
    register,
    gcDurationBuckets: [0.001, 0.01, 0.1, 0.5, 1.5, 5.5],
    eventLoopMonitoringPrecision: EVENT_LOOP_TIMER_MS,
  });
  for (const name of MISNAMED) register.removeSingleMetric(name);
  return register;
}

/** A metric as prom-client returns it; `type` is text there, despite its declaration. */
type CollectedMetric = MetricObjectWithValues<MetricValueWithName<string>>;

/**
 * Writes collected metrics as families, without the values of collectors that are not chosen. Not left to prom-client: it
 * cannot write both formats from one registry and escapes HELP wrongly in one.
 */
function renderMetrics(
  metrics: readonly CollectedMetric[],
  constantLabels: string,
  chosen: ReadonlySet<string>,
): readonly RenderedFamily[] {
  return metrics.map((metric) => {
    const lines = metric.values
      .filter(({ labels: { collector } }) => collector === undefined || chosen.has(`${collector}`))
      .map(({ labels, metricName = metric.name, value }) =>
        sampleWriter(metricName, constantLabels)(labelText(labels), value),
      );
    return { family: describe(metric), lines: Buffer.from(lines.join('')), series: lines.length };
  });
}

const EVENT_LOOP_LAG = 'nodejs_eventloop_lag_';

/**
 * prom-client shows a gauge that was never set as 0, and the lag of an event loop that was not measured since the scrape before as
 * 0, NaN and 292 years.
 */
function withoutUnset(metrics: readonly CollectedMetric[]): readonly CollectedMetric[] {
  const isMeasured = metrics.some(
    ({ name, values }) => name === `${EVENT_LOOP_LAG}max_seconds` && (values[0]?.value ?? 0) > 0,
  );
  return metrics
    .filter(({ name }) => isMeasured || !name.startsWith(EVENT_LOOP_LAG))
    .filter(({ type, values: [first] }) => {
      const isUnset = first?.value === 0 && Object.keys(first.labels).length === 0;
      return String(type) !== 'gauge' || !isUnset;
    });
}

/** The content of the header of a metric. */
function describe({ name, help, type }: CollectedMetric): Family {
  if (String(type) === 'histogram') return histogram({ name, help, buckets: [] });
  return String(type) === 'counter' ? counter({ name, help }) : gauge({ name, help });
}

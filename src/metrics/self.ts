import { collectDefaultMetrics, Counter, Histogram, Registry } from 'prom-client';
import type { Family, HistogramFamily } from './family.ts';
import { labelText } from './label-text.ts';
import { BUILD_INFO } from './outcome-families.ts';
import * as families from './self-families.ts';
import { ofCollectors, renderMetrics, withoutUnset } from './self-render.ts';
import { Sheet } from './sheet.ts';
import type { RenderedFamily } from './snapshot.ts';
import { renderFamilies } from './snapshot.ts';

/** The exporter's own counters and histograms. prom-client keeps them; `text.ts` writes them. */
export interface Self {
  /** What belongs to one cluster; the same object every time, until it is forgotten. */
  readonly cluster: (name: string) => ClusterSelf;
  /** Drops all series of a removed cluster. Late reports through its old object are lost, as they should be. */
  readonly forget: (name: string) => void;
  /** Counts a connection that was refused or closed because too many were open. */
  readonly connectionDropped: () => void;
  /** Rendered for one scrape; series that speak of one collector are left out unless it is chosen. */
  readonly families: (
    isChosen?: (collector: string) => boolean,
  ) => Promise<readonly RenderedFamily[]>;
}

/** What is counted about one cluster: plain functions to be handed to whoever sees it happen. */
export interface ClusterSelf {
  /** Lets the poll counters of a collector start at 0, with all reasons. */
  readonly preparePolls: (of: CollectorLabels) => void;
  /** Drops the poll counters of a collector that is called by another label from now on. */
  readonly forgetPolls: (of: CollectorLabels) => void;
  /** Lets the login counters start at 0, with all reasons. */
  readonly prepareLogins: () => void;
  /** Lets the decode errors of the operations start at 0. */
  readonly prepareEndpoints: (endpoints: readonly families.Endpoint[]) => void;
  readonly requestFinished: (request: FinishedRequest) => void;
  readonly requestRetried: (
    request: OperationLabels & { readonly reason: families.RetryReason },
  ) => void;
  readonly decodeErrors: (endpoint: families.Endpoint, count: number) => void;
  readonly loginTried: () => void;
  /** After `loginTried`. */
  readonly loginFailed: (reason: families.LoginFailureReason) => void;
  /** Counts every poll that ended, good or bad. */
  readonly pollFinished: (of: CollectorLabels) => void;
  /** After `pollFinished`. */
  readonly pollFailed: (
    of: CollectorLabels & { readonly reason: families.PollFailureReason },
  ) => void;
  readonly pollSkipped: (
    of: CollectorLabels & { readonly reason: families.PollSkipReason },
  ) => void;
  readonly seriesDropped: (family: string, reason: families.DropReason, count: number) => void;
}

interface CollectorLabels {
  readonly collector: string;
  readonly shard: string;
}

interface OperationLabels {
  readonly api: families.Api;
  readonly endpoint: families.Endpoint;
}

export interface FinishedRequest extends OperationLabels {
  /** HTTP status, or `error` when no answer came. */
  readonly code: number | 'error';
  readonly seconds: number;
  /** Of the body, after decompression. */
  readonly bytes: number;
}

export interface Build {
  readonly version: string;
  readonly revision: string;
  readonly nodeVersion: string;
  readonly platform: string;
}

/** A registry of its own for the process and for each cluster, so that forgetting one forgets all of it. */
export function createSelf(build: Build): Self {
  const processRegistry = createProcessRegistry();
  const connectionsDropped = countIn(processRegistry, families.WEB_CONNECTIONS_DROPPED);
  const buildSheet = createBuildSheet(build);
  const clusters = new Map<string, { registry: Registry; self: ClusterSelf }>();
  return Object.freeze({
    cluster(name: string) {
      const known = clusters.get(name) ?? createCluster();
      clusters.set(name, known);
      return known.self;
    },
    forget(name: string) {
      clusters.delete(name);
    },
    connectionDropped: () => connectionsDropped({}, 1),
    async families(isChosen: (collector: string) => boolean = () => true) {
      const rendered = [
        ...renderFamilies(buildSheet),
        ...renderMetrics(withoutUnset(await processRegistry.getMetricsAsJSON()), ''),
      ];
      for (const [name, { registry }] of clusters) {
        const constantLabels = labelText(['crdb_cluster'], { crdb_cluster: name });
        const metrics = ofCollectors(await registry.getMetricsAsJSON(), isChosen);
        rendered.push(...renderMetrics(metrics, constantLabels));
      }
      return rendered;
    },
  });
}

function createBuildSheet({ version, revision, nodeVersion, platform }: Build): Sheet {
  const sheet = new Sheet({});
  sheet.info(BUILD_INFO, { version, revision, node_version: nodeVersion, platform });
  return sheet;
}

function createCluster(): { registry: Registry; self: ClusterSelf } {
  const registry = new Registry();
  const polls = countIn(registry, families.POLLS);
  const pollFailures = countIn(registry, families.POLL_FAILURES);
  const pollsSkipped = countIn(registry, families.POLLS_SKIPPED);
  const logins = countIn(registry, families.LOGINS);
  const loginFailures = countIn(registry, families.LOGIN_FAILURES);
  const retries = countIn(registry, families.HTTP_RETRIES);
  const decodeErrors = countIn(registry, families.DECODE_ERRORS);
  const dropped = countIn(registry, families.SERIES_DROPPED);
  const self = Object.freeze<ClusterSelf>({
    preparePolls({ collector, shard }) {
      polls({ collector, shard }, 0);
      for (const reason of families.POLL_FAILURE_REASONS) {
        pollFailures({ collector, shard, reason }, 0);
      }
      for (const reason of families.POLL_SKIP_REASONS) {
        pollsSkipped({ collector, shard, reason }, 0);
      }
    },
    forgetPolls({ collector, shard }) {
      registry.getSingleMetric(families.POLLS.name)?.remove({ collector, shard });
      for (const reason of families.POLL_FAILURE_REASONS) {
        const labels = { collector, shard, reason };
        registry.getSingleMetric(families.POLL_FAILURES.name)?.remove(labels);
      }
      for (const reason of families.POLL_SKIP_REASONS) {
        const labels = { collector, shard, reason };
        registry.getSingleMetric(families.POLLS_SKIPPED.name)?.remove(labels);
      }
    },
    prepareLogins() {
      logins({}, 0);
      for (const reason of families.LOGIN_FAILURE_REASONS) {
        loginFailures({ reason }, 0);
      }
    },
    prepareEndpoints(endpoints) {
      for (const endpoint of endpoints) {
        decodeErrors({ endpoint }, 0);
      }
    },
    requestFinished: createRequestCounter(registry),
    requestRetried: ({ api, endpoint, reason }) => retries({ api, endpoint, reason }, 1),
    decodeErrors: (endpoint, count) => decodeErrors({ endpoint }, count),
    loginTried: () => logins({}, 1),
    loginFailed: (reason) => loginFailures({ reason }, 1),
    pollFinished: ({ collector, shard }) => polls({ collector, shard }, 1),
    pollFailed: ({ collector, shard, reason }) => pollFailures({ collector, shard, reason }, 1),
    pollSkipped: ({ collector, shard, reason }) => pollsSkipped({ collector, shard, reason }, 1),
    seriesDropped: (family, reason, count) => dropped({ family, reason }, count),
  });
  return { registry, self };
}

function createRequestCounter(registry: Registry): (request: FinishedRequest) => void {
  const requests = countIn(registry, families.HTTP_REQUESTS);
  const bodyBytes = countIn(registry, families.HTTP_RESPONSE_BYTES);
  const duration = observeIn(registry, families.HTTP_REQUEST_DURATION);
  return ({ api, endpoint, code, seconds, bytes }) => {
    requests({ api, endpoint, code: String(code) }, 1);
    bodyBytes({ api, endpoint }, bytes);
    duration({ api, endpoint }, seconds);
  };
}

type Add<L extends string> = (labels: Readonly<Record<L, string>>, by: number) => void;

/** Copies the labels, because prom-client keeps the object it is given. */
function countIn<L extends string>(registry: Registry, { name, help, labels }: Family<L>): Add<L> {
  const metric = new Counter({ name, help, labelNames: labels, registers: [registry] });
  return (of, by) => metric.inc({ ...of }, by);
}

function observeIn<L extends string>(registry: Registry, family: HistogramFamily<L>): Add<L> {
  const { name, help, labels, buckets } = family;
  const metric = new Histogram({
    name,
    help,
    labelNames: labels,
    buckets: [...buckets],
    registers: [registry],
  });
  return (of, seconds) => metric.observe({ ...of }, seconds);
}

/** Gauges that are named like counters and rejected by `promtool check metrics`. */
const MISNAMED = ['handles', 'requests', 'resources'].map((of) => `nodejs_active_${of}_total`);

function createProcessRegistry(): Registry {
  const register = new Registry();
  collectDefaultMetrics({ register, gcDurationBuckets: [0.001, 0.01, 0.1, 0.5, 1.5, 5.5] });
  for (const name of MISNAMED) {
    register.removeSingleMetric(name);
  }
  return register;
}

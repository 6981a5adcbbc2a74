import type { Simulator } from '../../simulator/index.ts';
import type { ClusterConfig, Config } from '../../src/config/keys-and-flags.ts';
import { onlyCollectors } from '../support/collectors.ts';
import type { Plan } from './scrape-checks.ts';
import type { ReloadTo } from './troubles.ts';

/** Different for each, so that it is seen which one is at fault. */
const INTERVAL_SECONDS: Readonly<Record<string, number>> = {
  nodes: 0.2,
  ranges: 0.3,
  sessions: 0.22,
  users: 0.36,
  tables: 0.33,
  cloud: 0.25,
};
/** Of a whole poll: several deadlines of one request, as it is by default, so that a scan outlasts silent nodes. */
const POLL_SECONDS = { ranges: 1.2, others: 0.6 } as const;
/** Of one request. */
const REQUEST_SECONDS = 0.25;
const MAX_RESPONSE_BYTES = 400_000;
const FEW_ELEMENTS = 7;
/** Each costs a request. */
const TABLES = 3;

/** What the configuration of a seed is made of. */
export interface Dimensions {
  /** All times are this many times longer. */
  readonly slowness: number;
  readonly gateways: number;
  readonly maxConcurrentRequests: number;
  readonly rangeConcurrency: number;
  /** Each request lists them in another order. */
  readonly storesPerNode: number;
  readonly pagedCollectors: ReadonlySet<string>;
  /** Most sessions that the servers put into one page, whatever was asked for; 0 for no such cap. */
  readonly sessionsPageCap: number;
  /** What is odd about the cluster from its beginning. */
  readonly world: {
    /** Members that died long ago, and never return. */
    readonly relics: number;
    readonly relicsAtNodes: boolean;
    readonly nodeTier: boolean;
    /** The exporter's user may not see the sessions of others. */
    readonly seesOwnSessions: boolean;
  };
}

/** Two clusters: one with a cluster API, one with a Cloud API. */
export function yamlOf(
  simulator: Simulator,
  urls: readonly string[],
  { maxConcurrentRequests, rangeConcurrency, pagedCollectors }: Dimensions,
): string {
  const listed = urls.slice(0, -1).map((url) => JSON.stringify(url));
  const page = (collector: string): object =>
    pagedCollectors.has(collector) ? { page_limit: collector === 'nodes' ? 2 : FEW_ELEMENTS } : {};
  const tables = simulator
    .truth()
    .tables.slice(0, TABLES)
    .map(({ database, schema, table }) => `${database}.${schema}.${table}`);
  // Those of INTERVAL_SECONDS: the invariants know what each of them sends.
  const collectors = onlyCollectors({
    nodes: page('nodes'),
    ranges: { ...page('ranges'), concurrency: rangeConcurrency },
    sessions: { ...page('sessions'), max_applications: 1000 },
    users: {},
    tables: { tables },
    cloud: {},
  });
  return `${collectors}clusters:
  - name: chaos
    cluster_api: { urls: [${listed.join(', ')}], username: ${simulator.username}, password: ${simulator.password}, max_concurrent_requests: ${maxConcurrentRequests} }
  - name: cloudy
    cloud_api: { url: "${urls.at(-1)}", cluster_id: ${simulator.cloudClusterId}, token: ${simulator.cloudToken} }
`;
}

/** The configuration with times of milliseconds, which the loader would refuse. */
export function hasten(config: Config, slowness: number): Config {
  const clusters = config.clusters.map((cluster) => hastenCluster(cluster, slowness));
  return { ...config, clusters };
}

function hastenCluster(cluster: ClusterConfig, slowness: number): ClusterConfig {
  const collectors = Object.entries(cluster.collectors).map(([name, collector]) => [
    name,
    {
      ...collector,
      interval: slowness * (INTERVAL_SECONDS[name] ?? 1),
      timeout: slowness * POLL_SECONDS[name === 'ranges' ? 'ranges' : 'others'],
      max_duty: 1,
      ...(name === 'ranges' && { node_timeout: slowness * REQUEST_SECONDS }),
    },
  ]);
  const { cluster_api } = cluster;
  return {
    ...cluster,
    ...(cluster_api && {
      cluster_api: {
        ...cluster_api,
        timeout: slowness * REQUEST_SECONDS,
        max_response_bytes: MAX_RESPONSE_BYTES,
      },
    }),
    collectors: Object.fromEntries(collectors),
  };
}

/** What reloads find, one after the other. */
export class Variants {
  #present: Config | undefined;
  #withCloud: readonly ClusterConfig[] = [];
  /** What the next reload finds. */
  next: ReloadTo = 'same';
  /** How often the cluster was started again. */
  restarts = 0;

  begin(config: Config): Config {
    this.#present = config;
    this.#withCloud = config.clusters;
    return config;
  }

  /** The collectors that are planned now. */
  get plan(): Plan {
    const plan: Record<string, readonly string[]> = {};
    for (const { name, collectors } of this.#present?.clusters ?? []) {
      plan[name] = Object.keys(collectors).filter((each) => collectors[each]?.enabled === true);
    }
    return plan;
  }

  /** Called by the reload itself. */
  read(): Config {
    const config = this.#present;
    if (config === undefined || this.next === 'bad') throw new Error('the file is wrong');
    this.#present = { ...config, clusters: this.#clusters(config.clusters) };
    return this.#present;
  }

  #clusters(clusters: readonly ClusterConfig[]): readonly ClusterConfig[] {
    if (this.next === 'fewer') return clusters.slice(0, 1);
    if (this.next === 'more') return [...clusters.slice(0, 1), ...this.#withCloud.slice(1)];
    if (this.next !== 'changed') return clusters;
    this.restarts += 1;
    return clusters.map((cluster) => ({
      ...cluster,
      ...(cluster.cluster_api && {
        cluster_api: { ...cluster.cluster_api, min_rate: this.restarts },
      }),
    }));
  }
}

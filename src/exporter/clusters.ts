import { isDeepStrictEqual } from 'node:util';
import { type ClusterConfig, type Config, listSecrets } from '#config';
import { Cluster, type ClusterContext } from './cluster.ts';
import { WatchHistory } from './watch-history.ts';

/** The running clusters; replaced as a whole when the configuration changes. */
export class Clusters {
  readonly #context: ClusterContext;
  #clusters: ReadonlyMap<string, Cluster> = new Map();
  /** The history of each cluster, by its name: a reload that changes a cluster forgets none of its problems. */
  readonly #watches = new Map<string, WatchHistory>();
  /** Undefined until clusters run. */
  #shard: Config['shard'] | undefined;
  /** Removed clusters that are still logging out. */
  readonly #ending = new Set<Promise<void>>();
  #isStopped = false;
  /** The end of the last change of the configuration. */
  #applied: Promise<unknown> = Promise.resolve();

  constructor(context: ClusterContext) {
    this.#context = context;
  }

  get list(): readonly Cluster[] {
    return [...this.#clusters.values()];
  }

  /** Clusters with polls of their own; the others are polled by /probe only. */
  get polled(): readonly Cluster[] {
    return this.list.filter(({ config }) => config.poll);
  }

  /** Whether every collector of every polled cluster has ended its first poll. */
  get hasPolled(): boolean {
    if (this.#shard === undefined) return false;
    return this.polled.every(({ pollers }) =>
      pollers.every(({ outcome }) => outcome.state !== 'waiting'),
    );
  }

  /**
   * Runs the clusters of this configuration. An unchanged cluster continues; a changed one is restarted, with the
   * data and state of the old one if it has the same addresses and virtual cluster; a removed one disappears at once.
   * Rejects when a cluster cannot be created, and when `stop` is called before the new clusters run: then nothing has changed.
   * The new clusters are listed before they run: `beforeRun` may already show them.
   */
  apply(config: Config, beforeRun?: () => Promise<void>): Promise<void> {
    const applied = this.#apply(config, beforeRun);
    this.#applied = applied.catch(() => undefined);
    return applied;
  }

  async #apply({ clusters, shard }: Config, beforeRun?: () => Promise<void>): Promise<void> {
    const isSameShard = isDeepStrictEqual(shard, this.#shard);
    const next: Cluster[] = [];
    try {
      for (const config of clusters) {
        const before = isSameShard ? this.#clusters.get(config.name) : undefined;
        next.push(await this.#prepare(config, shard, before));
      }
      if (this.#isStopped) throw new Error('the exporter is stopping');
    } catch (error) {
      const created = next.filter((cluster) => !this.list.includes(cluster));
      await Promise.all(created.map((cluster) => cluster.stop()));
      for (const { name } of clusters) {
        if (!this.#clusters.has(name)) this.#context.metrics.forget(name);
      }
      throw error;
    }
    const names = new Set(clusters.map(({ name }) => name));
    for (const cluster of this.list) {
      if (!next.includes(cluster)) this.#end(cluster);
      if (names.has(cluster.name)) continue;
      this.#context.metrics.forget(cluster.name);
      this.#watches.delete(cluster.name);
    }
    this.#clusters = new Map(next.map((cluster) => [cluster.name, cluster]));
    this.#shard = shard;
    await beforeRun?.();
    for (const cluster of next) cluster.start();
  }

  /** `before` is the running cluster of this name, if the shards stay the same. */
  async #prepare(config: ClusterConfig, shard: Config['shard'], before: Cluster | undefined) {
    if (before !== undefined && areEqualConfigs(before.config, config)) return before;
    const isContinued = before !== undefined && nameSameCluster(before.config, config);
    const previous = isContinued ? before : undefined;
    return Cluster.create(this.#context, config, shard, this.#watchOf(config.name), previous);
  }

  #watchOf(name: string): WatchHistory {
    const { log, clock } = this.#context;
    const watch =
      this.#watches.get(name) ?? new WatchHistory(log.child({ cluster: name }), clock.monotonicMs);
    this.#watches.set(name, watch);
    return watch;
  }

  /** Ends all polling and logs out. Clusters that are being created end before they run. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const cluster of this.list) this.#end(cluster);
    await this.#applied;
    await Promise.all(this.#ending);
  }

  #end(cluster: Cluster): void {
    const ended = cluster.stop();
    this.#ending.add(ended);
    void ended.finally(() => this.#ending.delete(ended));
  }
}

/** Whether both configurations name the same cluster, by its addresses. Each virtual cluster is a cluster of its own. */
function nameSameCluster(a: ClusterConfig, b: ClusterConfig): boolean {
  const urls = new Set(a.cluster_api?.urls);
  const sharesUrl = b.cluster_api?.urls.some((url) => urls.has(url)) ?? a.cluster_api === undefined;
  return (
    sharesUrl &&
    a.cluster_api?.virtual_cluster === b.cluster_api?.virtual_cluster &&
    a.cloud_api?.url === b.cloud_api?.url &&
    a.cloud_api?.cluster_id === b.cloud_api?.cluster_id
  );
}

/** Whether all settings are equal, those of secrets included. */
function areEqualConfigs(a: ClusterConfig, b: ClusterConfig): boolean {
  const others = listSecrets(b);
  return (
    isDeepStrictEqual(a, b) &&
    listSecrets(a).every((secret, index) => {
      const other = others[index];
      return secret === undefined || other === undefined || secret.isSameAs(other);
    })
  );
}

import { isDeepStrictEqual } from 'node:util';
import type { ClusterConfig, Config } from './config/schema.ts';
import type { Secret } from './config/secret.ts';
import { watchCluster, type WatchedCluster, type WatchOptions } from './watched-cluster.ts';

/** What every watched cluster is made with, whatever the configuration says. */
export type SharedOptions = Omit<WatchOptions, 'config' | 'shard' | 'max_series'>;

interface Prepared {
  readonly cluster: WatchedCluster;
  readonly config: ClusterConfig;
}

interface Entry extends Prepared {
  readonly stop: AbortController;
  readonly running: Promise<void>;
}

/** The clusters that are watched at present; replaced as a whole when the configuration changes. */
export class WatchedClusters {
  readonly #parts: SharedOptions;
  #entries: ReadonlyMap<string, Entry> = new Map();
  #settings: Pick<Config, 'shard' | 'max_series'> | undefined;
  /** Clusters that are no longer watched and are still logging out. */
  readonly #ending = new Set<Promise<void>>();

  constructor(parts: SharedOptions) {
    this.#parts = parts;
  }

  get list(): readonly WatchedCluster[] {
    return Array.from(this.#entries.values(), ({ cluster }) => cluster);
  }

  /** Those with polls of their own; the others are only asked by /probe. */
  get polled(): readonly WatchedCluster[] {
    return this.list.filter(({ isPolled }) => isPolled);
  }

  /** True once every collector of every polled cluster has ended its first poll, good or bad. */
  get hasPolled(): boolean {
    if (this.#settings === undefined) return false;
    return this.polled.every(({ pollers }) => pollers.every(({ outcome }) => outcome.hasEnded));
  }

  /**
   * Watches what this configuration names. An unchanged cluster goes on as it is; a changed one is
   * started anew with what the old one showed and remembered, if it still asks the same addresses; a
   * removed one is gone at once.
   * Rejects, with everything as it was, when one cannot be prepared.
   */
  async apply({ clusters, shard, max_series }: Config): Promise<void> {
    const settings = { shard, max_series };
    const isSame = isDeepStrictEqual(settings, this.#settings);
    const isSameShare = isDeepStrictEqual(shard, this.#settings?.shard);
    const tried = await Promise.allSettled(
      clusters.map(async (config): Promise<Entry | Prepared> => {
        const before = this.#entries.get(config.name);
        if (before !== undefined && isSame && isSameCluster(before.config, config)) return before;
        const seesTheSame =
          isSameShare && before !== undefined && asksTheSame(before.config, config);
        const predecessors = seesTheSame ? before.cluster.pollers : [];
        const cluster = await watchCluster({ ...this.#parts, ...settings, config }, predecessors);
        return { config, cluster };
      }),
    );
    const prepared = tried.flatMap((each) => (each.status === 'fulfilled' ? each.value : []));
    const failed = tried.find((each) => each.status === 'rejected');
    if (failed !== undefined) {
      await this.#discard(clusters, prepared);
      throw failed.reason;
    }
    const kept = new Set<unknown>(prepared);
    for (const entry of this.#entries.values()) if (!kept.has(entry)) this.#end(entry);
    const names = new Set(clusters.map(({ name }) => name));
    for (const name of this.#entries.keys()) if (!names.has(name)) this.#parts.self.forget(name);
    // Who reloads wants the exporter to try again, whatever has changed.
    for (const { cluster } of this.#entries.values()) cluster.endPauses();
    this.#entries = new Map(
      prepared.map((entry) => [entry.config.name, isRunning(entry) ? entry : start(entry)]),
    );
    this.#settings = settings;
  }

  /** Ends all polling and logs out. */
  async stop(): Promise<void> {
    for (const entry of this.#entries.values()) this.#end(entry);
    await Promise.all(this.#ending);
  }

  /** Nothing is left of clusters that were prepared beside one that could not be. */
  async #discard(
    clusters: Config['clusters'],
    prepared: readonly (Entry | Prepared)[],
  ): Promise<void> {
    const fresh = prepared.filter((entry) => !isRunning(entry));
    await Promise.all(fresh.map(({ cluster }) => cluster.run(AbortSignal.abort())));
    for (const { name } of clusters) if (!this.#entries.has(name)) this.#parts.self.forget(name);
  }

  #end({ stop, running }: Entry): void {
    stop.abort();
    this.#ending.add(running);
    void running.finally(() => this.#ending.delete(running));
  }
}

function isRunning(entry: Entry | Prepared): entry is Entry {
  return 'running' in entry;
}

function start({ config, cluster }: Prepared): Entry {
  const stop = new AbortController();
  return { config, cluster, stop, running: cluster.run(stop.signal) };
}

/** Whether it is the same cluster under both configurations, as far as its addresses tell. */
function asksTheSame(a: ClusterConfig, b: ClusterConfig): boolean {
  const urls = new Set(a.cluster_api?.urls);
  const sharesUrl = b.cluster_api?.urls.some((url) => urls.has(url)) ?? a.cluster_api === undefined;
  return (
    sharesUrl &&
    a.cloud_api?.url === b.cloud_api?.url &&
    a.cloud_api?.cluster_id === b.cloud_api?.cluster_id
  );
}

function isSameCluster(a: ClusterConfig, b: ClusterConfig): boolean {
  return (
    isDeepStrictEqual(a, b) &&
    isSameSecret(a.cluster_api?.password, b.cluster_api?.password) &&
    isSameSecret(a.cluster_api?.token, b.cluster_api?.token) &&
    isSameSecret(a.cloud_api?.token, b.cloud_api?.token)
  );
}

function isSameSecret(a: Secret | undefined, b: Secret | undefined): boolean {
  return a === undefined || b === undefined ? a === b : a.isSameAs(b);
}

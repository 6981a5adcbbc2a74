import type { Status } from '../../src/status/findings/status.ts';
import { onlyCollectors } from '../../test/support/collectors.ts';
import { clusterYaml, startTestExporter, type TestExporter } from '../../test/support/exporter.ts';
import { type Alarm, findingsOf } from './alarms.ts';
import { POLLED, type Polled } from './history.ts';
import { type Answers, applyRule, Exposition } from './rule.ts';
import type { OracleWorld } from './world.ts';

/** To compress what never leaves this process would be a waste. */
const PLAIN = { 'Accept-Encoding': 'identity' };
const FAMILIES = [
  'crdb_exporter_collector_success',
  'crdb_exporter_collector_last_success_timestamp_seconds',
  'crdb_exporter_collector_interval_seconds',
  'crdb_exporter_collector_duration_seconds',
  'crdb_node_liveness',
  'crdb_node_record_age_seconds',
  'crdb_node_peers',
  'crdb_range_scan_node_success',
  'crdb_range_scan_nodes',
  'crdb_range_replicas',
  'crdb_range_problem_ranges',
  'crdb_node_dependent_ranges',
  'crdb_locality_dependent_ranges',
  'crdb_node_down_replicas',
  'crdb_ranges_unverified',
  'crdb_ranges_serving_nothing',
  'crdb_ranges_without_live_replica',
  'crdb_range_key_space_complete',
  'crdb_range_key_space_gap',
  'crdb_ranges_left_over',
  'crdb_network_checked',
  'crdb_network_unreachable_pairs',
  'crdb_node_rpc_connections',
];
const INTERVALS: Readonly<Record<Polled, number>> = { nodes: 30, network: 60, ranges: 60 };

/** Requests one after the other make a history repeatable; in a world in which no time passes nobody pauses. */
function settingsOf({ start }: OracleWorld): Readonly<Record<string, object>> {
  return {
    nodes: { max_duty: 1 },
    network: { max_duty: 1 },
    ranges: {
      max_duty: 1,
      concurrency: 1,
      route: 'gateway',
      descriptor_max_age: `${start.descriptorMaxAge}s`,
    },
  };
}

/** Random numbers of an exporter: the first ones, which spread its own first polls, are so large that only the history polls. */
function putOffFirstPolls(): () => number {
  let left = POLLED.length;
  return () => {
    left -= 1;
    return left >= 0 ? 2000 : 0;
  };
}

/** What page and metrics say after a poll. */
export interface Seen {
  readonly metrics: Exposition;
  readonly page: Answers;
  readonly rule: Answers;
  /** Why the page knows no answer, where it says so. */
  readonly reason: string | undefined;
  /** The critical findings of ranges on the page. */
  readonly alarms: readonly { readonly alarm: Alarm; readonly text: string }[];
}

/** An exporter in a world, which polls when the history says so. */
export class WatchingExporter implements AsyncDisposable {
  readonly #exporter: TestExporter;
  readonly #world: OracleWorld;
  readonly #startedMs = new Map<Polled, number>();
  /** The moments at which the last polls that succeeded began. */
  readonly began = new Map<Polled, number>();

  static async start(world: OracleWorld): Promise<WatchingExporter> {
    const exporter = await startTestExporter({
      yaml: `${onlyCollectors(settingsOf(world))}clusters:\n${clusterYaml(world.simulator)}`,
      app: { clock: world.clock, random: putOffFirstPolls() },
    });
    const watching = new WatchingExporter(exporter, world);
    for (const name of POLLED) await watching.#probe(name);
    return watching;
  }

  private constructor(exporter: TestExporter, world: OracleWorld) {
    this.#exporter = exporter;
    this.#world = world;
  }

  /** Polls once the interval of the collector has passed. */
  async poll(name: Polled): Promise<void> {
    // A little late, so that nothing happens exactly when it is due.
    const dueMs = (this.#startedMs.get(name) ?? 0) + 1000 * INTERVALS[name] + 500;
    const waitMs = dueMs - this.#world.elapsedMs;
    if (waitMs > 0) this.#world.wait(waitMs);
    await this.#probe(name);
  }

  async #probe(name: Polled): Promise<void> {
    const began = this.#world.now;
    if (name === 'ranges') this.#world.reads.exporter.beginScan();
    this.#startedMs.set(name, this.#world.elapsedMs);
    const path = `/probe?cluster=sim&collect[]=${name}&name[]=crdb_exporter_collector_success`;
    const metrics = new Exposition((await this.#exporter.get(path, PLAIN)).text);
    const success = metrics.value('crdb_exporter_collector_success', { collector: name });
    if (success === 1) this.began.set(name, began);
    if (name === 'ranges') await this.#world.quiet();
  }

  /** Whether all that answers depend on was polled when it was due, give or take an interval. */
  isUpToDate(): boolean {
    return POLLED.every(
      (name) => this.#world.elapsedMs - (this.#startedMs.get(name) ?? 0) <= 2000 * INTERVALS[name],
    );
  }

  async look(): Promise<Seen> {
    const metrics = await this.#read(FAMILIES);
    const status: Status = JSON.parse((await this.#exporter.get('/api/status', PLAIN)).text);
    const [cluster] = status.clusters;
    if (cluster === undefined) throw new Error('no cluster');
    const { decisions, reason } = cluster.safeToStop;
    const page = new Map(decisions.map(({ nodeId, ...decision }) => [nodeId, decision]));
    const rule = applyRule(metrics, this.#world.clock.wallMs() / 1000);
    return { metrics, page, rule, reason, alarms: findingsOf(cluster) };
  }

  async #read(families: readonly string[]): Promise<Exposition> {
    const query = families.map((name) => `name[]=${name}`).join('&');
    return new Exposition((await this.#exporter.get(`/metrics?${query}`, PLAIN)).text);
  }

  log(): string {
    return this.#exporter.log();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#exporter.stop();
  }
}

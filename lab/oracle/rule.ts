import { type ParsedSample, parseExposition } from '../../test/metrics/parse-exposition.ts';

type Labels = Readonly<Record<string, string>>;

/** Samples of an exposition, by family. */
export class Exposition {
  readonly #byName: ReadonlyMap<string, readonly ParsedSample[]>;

  constructor(text: string) {
    this.#byName = Map.groupBy(parseExposition(text), ({ name }) => name);
  }

  all(name: string, labels: Labels = {}): readonly ParsedSample[] {
    const samples = this.#byName.get(name) ?? [];
    return samples.filter((sample) =>
      Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
    );
  }

  /** The value of the only sample with these labels. */
  value(name: string, labels: Labels = {}): number | undefined {
    return this.all(name, labels)[0]?.value;
  }

  isAbove0(name: string, labels: Labels = {}): boolean {
    return this.all(name, labels).some(({ value }) => value > 0);
  }
}

export type Answer = 'yes' | 'no' | 'unknown';

/** An answer for each node that the scan has read. */
export type Answers = ReadonlyMap<
  number,
  { readonly answer: Answer; readonly reason?: string | undefined }
>;

const LIVE: ReadonlySet<string> = new Set(['live', 'draining', 'decommissioning']);

/**
 * The recording rule crdb_cluster_node_id:crdb_safe_to_stop:bool, without its look at the scans before, for one exporter.
 */
export function applyRule(metrics: Exposition, nowSeconds: number): Answers {
  const answers = new Map<
    number,
    { readonly answer: Answer; readonly reason?: string | undefined }
  >();
  if (metrics.value('crdb_ranges_unverified') === undefined || failed(metrics, 'ranges'))
    return answers;
  const status = new Map(
    metrics
      .all('crdb_node_liveness')
      .flatMap(({ labels, value }) =>
        value === 1 && !failed(metrics, 'nodes')
          ? [[Number(labels['node_id']), labels['status'] ?? '']]
          : [],
      ),
  );
  const draining = [...status].flatMap(([id, each]) => (each === 'draining' ? [id] : []));
  const read = metrics.all('crdb_range_scan_node_success').filter(({ value }) => value === 1);
  const damage = findDamage(metrics);
  const doubt = findDoubt(metrics, nowSeconds) ?? findNetworkDoubt(metrics);
  const ids = read.map(({ labels }) => Number(labels['node_id']));
  const gone = ids.find((id) => !LIVE.has(status.get(id) ?? ''));
  for (const id of ids) {
    const node_id = String(id);
    const isRefused =
      damage !== undefined ||
      draining.some((each) => each !== id) ||
      metrics.isAbove0('crdb_node_dependent_ranges', { node_id }) ||
      (status.get(id) === 'decommissioning' &&
        metrics.isAbove0('crdb_range_replicas', { node_id }));
    const lacks = metrics.value('crdb_node_dependent_ranges', { node_id }) === undefined;
    const reason =
      (gone === undefined ? undefined : `node ${gone} is not live`) ??
      (lacks ? 'no figures of dependence' : undefined) ??
      doubt;
    if (isRefused) answers.set(id, { answer: 'no', reason: damage ?? 'refused' });
    else if (reason !== undefined) answers.set(id, { answer: 'unknown', reason });
    else answers.set(id, { answer: 'yes' });
  }
  return answers;
}

function failed(metrics: Exposition, collector: string): boolean {
  return metrics.value('crdb_exporter_collector_success', { collector }) === 0;
}

function findDamage(metrics: Exposition): string | undefined {
  if (metrics.isAbove0('crdb_node_dependent_ranges', { effect: 'without_quorum' }))
    return 'without a majority';
  if (metrics.isAbove0('crdb_range_problem_ranges', { problem: 'unavailable' }))
    return 'unavailable';
  if (metrics.isAbove0('crdb_ranges_without_live_replica')) return 'lost';
  if (metrics.isAbove0('crdb_range_key_space_gap')) return 'gap';
  return metrics.isAbove0('crdb_ranges_serving_nothing') ? 'serving nothing' : undefined;
}

function findDoubt(metrics: Exposition, nowSeconds: number): string | undefined {
  const collector = 'ranges';
  const of = (name: string): number =>
    metrics.value(`crdb_exporter_collector_${name}`, { collector }) ?? 0;
  const ageSeconds = nowSeconds - of('last_success_timestamp_seconds');
  if (ageSeconds - 2 * of('interval_seconds') - of('duration_seconds') > 30)
    return 'the scan is too old';
  if (metrics.isAbove0('crdb_range_scan_nodes', { state: 'failed' })) return 'a node was not read';
  const ages = metrics.all('crdb_node_record_age_seconds').map(({ value }) => value);
  if (ages.length > 0 && Math.min(...ages) >= 120) return 'the records of all nodes are old';
  if (metrics.isAbove0('crdb_ranges_unverified')) return 'ranges are not verified';
  return metrics.value('crdb_range_key_space_complete') === 1
    ? undefined
    : 'the key space is not complete';
}

/** Where there is no list of connections, by what nodes count; one that counts none has not counted. */
function findUncounted(metrics: Exposition): string | undefined {
  const statuses = metrics.all('crdb_node_liveness').filter(({ value }) => value === 1);
  const live = statuses.filter(({ labels }) => labels['status'] === 'live');
  const up = statuses.filter(({ labels }) => LIVE.has(labels['status'] ?? ''));
  const explained = (statuses.length - up.length) / Math.max(up.length - 1, 0.1);
  const counts = live.flatMap(({ labels: { node_id = '' } }) => {
    const count = (state: string): number =>
      metrics.value('crdb_node_rpc_connections', { node_id, state }) ?? 0;
    const [healthy, unhealthy] = [count('healthy'), count('unhealthy')];
    return healthy + unhealthy === 0 ? [] : [{ healthy, unhealthy }];
  });
  if (counts.length === 0) return 'connections are neither listed nor counted';
  const least = Math.min(...counts.map(({ unhealthy }) => unhealthy));
  const isDoubtful = counts.some(
    ({ healthy, unhealthy }) => unhealthy > least || unhealthy / healthy > explained,
  );
  return isDoubtful ? 'nodes count connections that fail' : undefined;
}

function findNetworkDoubt(metrics: Exposition): string | undefined {
  if (failed(metrics, 'network')) return 'connections could not be read';
  const checked = metrics.value('crdb_network_checked');
  if (checked === 0) return 'connections were not checked';
  if (checked === undefined) return findUncounted(metrics);
  if (metrics.isAbove0('crdb_network_unreachable_pairs')) return 'nodes do not reach each other';
  const told = new Set(metrics.all('crdb_node_peers').map(({ labels }) => labels['node_id']));
  const isReturned = ({ labels, value }: ParsedSample): boolean =>
    value === 1 && LIVE.has(labels['status'] ?? '') && !told.has(labels['node_id']);
  return metrics.all('crdb_node_liveness').some(isReturned) ? 'a node has returned' : undefined;
}

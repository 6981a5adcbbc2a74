import { type ClusterNode, isReachable } from '../../simulator/world/nodes.ts';
import { type Apply, type ChangedCluster, nodesWhere, pickOf } from './cluster.ts';
import type { Change } from './history.ts';
import { RANGE_CHANGES } from './range-changes.ts';

/** Applies a change where there is something to change, and says in words what it did. */
export function applyChange(cluster: ChangedCluster, change: Change): string | undefined {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the table has a function of each kind for that kind
  const apply = CHANGES[change.kind] as Apply<Change['kind']>;
  return apply(cluster, change);
}

const CHANGES: { readonly [Kind in Change['kind']]: Apply<Kind> } = {
  ...RANGE_CHANGES,
  kill({ state, world, start, isStale }, { pick, how }) {
    const up = nodesWhere(state, isReachable);
    // The exporter needs a URL, and one that is not stale.
    const gateways = up.filter(({ id }) => id <= start.gateways);
    const isNeeded = ({ id }: ClusterNode): boolean =>
      id <= start.gateways && (isStale || gateways.length === 1);
    const node = pickOf(
      up.filter((each) => !isNeeded(each)),
      pick,
    );
    if (node === undefined || up.length <= 2) return undefined;
    if (how === 'crash') world.crashNode(node.id);
    else if (how === 'partitioned') world.partition(node.id);
    else world.killNode(node.id, how);
    return `node ${node.id} dies (${how})`;
  },
  revive({ state, world }, { pick, isBehind, isSuspect }) {
    const node = pickOf(
      nodesWhere(state, (each) => !isReachable(each)),
      pick,
    );
    if (node === undefined) return undefined;
    if (isSuspect) world.startNode(node.id, isBehind);
    else world.reviveNode(node.id, isBehind);
    return `node ${node.id} returns${isBehind ? ', behind' : ''}${isSuspect ? ', unavailable at first' : ''}`;
  },
  'catch-up'({ state, world }, { pick }) {
    const node = pickOf(
      nodesWhere(state, ({ isBehind }) => isBehind),
      pick,
    );
    if (node === undefined) return undefined;
    world.catchUp(node.id);
    return `node ${node.id} has caught up`;
  },
  restart({ state, world }, { pick }) {
    const node = pickOf(nodesWhere(state, isReachable), pick);
    if (node === undefined) return undefined;
    world.restartNode(node.id);
    return `node ${node.id} has restarted`;
  },
  forget({ state, world, reads }) {
    const restarted = nodesWhere(state, isReachable);
    for (const { id } of restarted) world.restartNode(id);
    // Where no process was there before the exporter takes the cluster for another one.
    if (restarted.length === state.nodes.size) reads.exporter.forget();
    return 'all nodes have restarted, one after the other';
  },
  drain({ state, world }, { pick }) {
    const node = pickOf(
      nodesWhere(state, ({ liveness }) => liveness === 'live'),
      pick,
    );
    if (node === undefined) return undefined;
    world.drainNode(node.id);
    return `node ${node.id} drains`;
  },
  undrain({ state, world }, { pick }) {
    const node = pickOf(
      nodesWhere(state, ({ liveness }) => liveness === 'draining'),
      pick,
    );
    if (node === undefined) return undefined;
    world.reviveNode(node.id);
    return `node ${node.id} drains no more`;
  },
  leave({ state, world, start }, { pick, how }) {
    const isOpen = ({ membership, id }: ClusterNode): boolean =>
      how === 'begin'
        ? membership === 'active'
        : membership === 'decommissioning' && id > start.gateways;
    const node = pickOf(nodesWhere(state, isOpen), pick);
    if (node === undefined) return undefined;
    if (how === 'begin') world.beginDecommission(node.id);
    else world.decommission(node.id, how === 'finish');
    const did = { begin: 'is to leave', move: 'gives its replicas away', finish: 'leaves' };
    return `node ${node.id} ${did[how]}`;
  },
  stay({ state, world }, { pick }) {
    const node = pickOf(
      nodesWhere(state, ({ membership }) => membership === 'decommissioning'),
      pick,
    );
    if (node === undefined) return undefined;
    world.recommission(node.id);
    return `node ${node.id} is to stay`;
  },
  cut({ state, world }, { picks: [first, second] }) {
    const up = nodesWhere(state, isReachable);
    const a = pickOf(up, first);
    const b = pickOf(
      up.filter((node) => node !== a),
      second,
    );
    if (a === undefined || b === undefined) return undefined;
    world.partitionPair(a.id, b.id);
    return `nodes ${a.id} and ${b.id} do not reach each other`;
  },
  heal({ state, world }, { pick }) {
    const pair = pickOf([...state.cutPairs], pick);
    if (pair === undefined) return undefined;
    const [a = 0, b = 0] = pair.split('-').map(Number);
    world.healPair(a, b);
    return `nodes ${a} and ${b} reach each other`;
  },
  connections(cluster, { form, of, to }) {
    const { simulator, state } = cluster;
    const nodes = nodesWhere(state, isReachable);
    const idOf = (pick: number | undefined): number =>
      pick === undefined ? 0 : (pickOf(nodes, pick)?.id ?? 0);
    cluster.connections = { form, of: idOf(of), to: idOf(to) };
    simulator.setQuirk('connectionForm', form.sent);
    simulator.setQuirk('connectionFormOf', cluster.connections.of);
    simulator.setQuirk('connectionFormTo', cluster.connections.to);
    simulator.setQuirk('foreignPeers', form.foreign);
    simulator.setQuirk('connectivity', form.list);
    simulator.setQuirk('connectionCounts', form.counts);
    return `connections are sent so: ${JSON.stringify(cluster.connections)}`;
  },
  stale(cluster, { pick, how }) {
    const { start, state } = cluster;
    const gateways = nodesWhere(state, ({ id }) => id <= start.gateways);
    const gateway = pickOf(gateways, pick);
    if (cluster.isStale || gateway === undefined || start.gateways < 2) return undefined;
    if (!gateways.every(isReachable)) return undefined;
    cluster.setStale(gateway.id, how);
    return `the URL of node ${gateway.id} is stale: ${how}`;
  },
  fresh(cluster) {
    if (!cluster.isStale) return undefined;
    cluster.setStale();
    return 'no URL is stale';
  },
  hiccup({ simulator, hiccups }, { endpoint, times, how }) {
    const effects = {
      reset: { kind: 'reset' },
      error: { kind: 'status', status: 500 },
      cut: { kind: 'cut', bytes: 40 },
    } as const;
    hiccups.push({ endpoint, times, fault: simulator.fault({ ...effects[how], endpoint, times }) });
    return `the next ${times} requests of ${endpoint} fail: ${how}`;
  },
  refuse(cluster) {
    cluster.isAdmitted = false;
    cluster.simulator.setQuirk('rangeDescriptors', 'forbidden');
    return 'descriptors are refused';
  },
  admit(cluster) {
    cluster.isAdmitted = true;
    cluster.simulator.setQuirk('rangeDescriptors', 'works');
    return 'descriptors are not refused';
  },
};

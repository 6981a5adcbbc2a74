import { DEFAULT_RELEASE, RELEASES } from '../releases.ts';
import { RANGE_PROBLEMS, REPLICA_PROBLEMS } from '../world/ranges.ts';
import type { World } from '../world/world.ts';
import {
  choiceMember,
  ControlError,
  integerMember,
  integersMember,
  numberMember,
  textMember,
  type Members,
} from './members.ts';

const LICENSES = ['installed', 'none', 'expired', 'unreported'] as const;

type Action = (world: World, members: Members) => unknown;

/** POST /world/NAME, with its members as a JSON object. */
const ACTIONS: Readonly<Record<string, { readonly members: string; readonly act: Action }>> = {
  kill: {
    members: 'node, liveness? dead|unavailable',
    act: (world, members) =>
      world.killNode(
        integerMember(members, 'node'),
        choiceMember(members, 'liveness', ['dead', 'unavailable'] as const),
      ),
  },
  crash: {
    members: 'node (its liveness follows with time, unlike that of kill)',
    act: (world, m) => world.crashNode(integerMember(m, 'node')),
  },
  replace: {
    members: 'node (dead for good; another one starts without data at its address)',
    act: (world, m) => ({ node: world.replaceNode(integerMember(m, 'node')) }),
  },
  start: {
    members: 'node, isBehind? (unavailable at first, unlike after revive)',
    act: (world, m) => world.startNode(integerMember(m, 'node'), m.get('isBehind') === true),
  },
  revive: {
    members: 'node, isBehind? (with what its replicas knew, until catch-up)',
    act: (world, m) => world.reviveNode(integerMember(m, 'node'), m.get('isBehind') === true),
  },
  'catch-up': { members: 'node', act: (world, m) => world.catchUp(integerMember(m, 'node')) },
  drain: { members: 'node', act: (world, m) => world.drainNode(integerMember(m, 'node')) },
  decommission: {
    members: 'node, finished?',
    act: (world, m) => world.decommission(integerMember(m, 'node'), m.get('finished') === true),
  },
  'begin-decommission': {
    members: 'node (its replicas stay)',
    act: (world, m) => world.beginDecommission(integerMember(m, 'node')),
  },
  recommission: {
    members: 'node',
    act: (world, m) => world.recommission(integerMember(m, 'node')),
  },
  restart: { members: 'node', act: (world, m) => world.restartNode(integerMember(m, 'node')) },
  upgrade: {
    members: `node, release ${RELEASES.join('|')}`,
    act: (world, m) =>
      world.upgradeNode(
        integerMember(m, 'node'),
        choiceMember(m, 'release', RELEASES) ?? DEFAULT_RELEASE,
      ),
  },
  partition: { members: 'node', act: (world, m) => world.partition(integerMember(m, 'node')) },
  'partition-pair': {
    members: 'nodes (two ids that do not reach each other; both stay live)',
    act: (world, m) => world.partitionPair(...pairMember(m)),
  },
  'heal-pair': { members: 'nodes', act: (world, m) => world.healPair(...pairMember(m)) },
  freeze: {
    members: 'node, silentOn? ranges|ranges-and-sessions (then it stays live)',
    act: (world, m) =>
      world.freezeNode(
        integerMember(m, 'node'),
        choiceMember(m, 'silentOn', ['ranges', 'ranges-and-sessions'] as const),
      ),
  },
  problem: {
    members: 'range, problem, on? true, store? (that replica alone claims it)',
    act: (world, members) => setProblem(world, members),
  },
  lease: {
    members: 'range, node',
    act: (world, m) => world.moveLease(integerMember(m, 'range'), integerMember(m, 'node')),
  },
  load: {
    members: 'range, queriesPerSecond, extraCpu? (CPU seconds per second)',
    act: (world, m) =>
      world.setLoad(
        integerMember(m, 'range'),
        numberMember(m, 'queriesPerSecond') ?? 0,
        numberMember(m, 'extraCpu'),
      ),
  },
  'place-range': {
    members: 'range, nodes (ids), nonVoters? (ids)',
    act: (world, m) =>
      world.placeRange(
        integerMember(m, 'range'),
        integersMember(m, 'nodes'),
        m.has('nonVoters') ? integersMember(m, 'nonVoters') : [],
      ),
  },
  'add-range': {
    members: 'nodes (ids)',
    act: (world, m) => ({ range: world.addRange(integersMember(m, 'nodes')) }),
  },
  'remove-range': {
    members: 'range',
    act: (world, m) => ({ isRemoved: world.removeRange(integerMember(m, 'range')) }),
  },
  'leave-behind': {
    members:
      'range (merged into its left neighbour), nodes (ids that keep its replica), knowsLease?',
    act: (world, m) => ({
      isMerged: world.leaveBehind(integerMember(m, 'range'), integersMember(m, 'nodes'), {
        knowsLease: m.get('knowsLease') === true,
      }),
    }),
  },
  'split-range': {
    members: 'range',
    act: (world, m) => ({ range: world.splitRange(integerMember(m, 'range')) }),
  },
  'merge-range': {
    members: 'range (with its right neighbour)',
    act: (world, m) => ({ isMerged: world.mergeRange(integerMember(m, 'range')) }),
  },
  zone: {
    members: 'ranges (ids), voters, nonVoters?',
    act: (world, m) =>
      world.setZone(integersMember(m, 'ranges'), {
        voters: integerMember(m, 'voters'),
        nonVoters: numberMember(m, 'nonVoters') ?? 0,
      }),
  },
  'aim-replicas': {
    members: 'range, nodes (ids), nonVoters? (ids)',
    act: (world, m) =>
      world.aimReplicas(
        integerMember(m, 'range'),
        integersMember(m, 'nodes'),
        m.has('nonVoters') ? integersMember(m, 'nonVoters') : [],
      ),
  },
  'step-replicas': {
    members: 'range',
    act: (world, m) => ({ isStep: world.stepReplicas(integerMember(m, 'range')) }),
  },
  allocate: {
    members: 'steps? (replicas go where the zones want them)',
    act: (world, m) => ({ ranges: world.allocate(numberMember(m, 'steps')) }),
  },
  'open-session': {
    members: 'node, application?, user?, state? active|idle_in_transaction|idle, transactionAgeMs?',
    act: (world, members) => openSession(world, members),
  },
  'close-session': {
    members: 'id (hexadecimal)',
    act: (world, m) => world.closeSession(textMember(m, 'id') ?? ''),
  },
  'pause-job': {
    members: 'job (changefeed, backup, …), ageMs?',
    act: (world, m) => world.pauseJob(textMember(m, 'job') ?? '', numberMember(m, 'ageMs')),
  },
  'fail-job': {
    members: 'job, node, error?',
    act: (world, m) =>
      world.failJob(textMember(m, 'job') ?? '', integerMember(m, 'node'), textMember(m, 'error')),
  },
  'resume-job': { members: 'job', act: (world, m) => world.resumeJob(textMember(m, 'job') ?? '') },
  backfill: {
    members: 'node? (of which a changefeed scans whole tables; none without it)',
    act: (world, m) => world.backfill(numberMember(m, 'node')),
  },
  'retry-changefeed': {
    members: 'error? (a changefeed only retries; without it, it works again)',
    act: (world, m) => world.retryChangefeed(textMember(m, 'error')),
  },
  license: {
    members: 'license installed|none|expired|unreported',
    act: (world, m) => world.setLicense(choiceMember(m, 'license', LICENSES) ?? 'installed'),
  },
  'move-statistics': {
    members: 'node (that runs poll_jobs_stats from now on)',
    act: (world, m) => world.moveStatistics(integerMember(m, 'node')),
  },
  replicate: {
    members: 'kind physical|logical, node, lagMs?',
    act: (world, m) =>
      world.replicate(replicationKind(m), integerMember(m, 'node'), numberMember(m, 'lagMs')),
  },
  'end-replication': {
    members: 'kind physical|logical',
    act: (world, m) => world.endReplication(replicationKind(m)),
  },
  'stop-backups': {
    members: 'ageMs?',
    act: (world, m) => world.stopBackups(numberMember(m, 'ageMs')),
  },
  'resume-backups': { members: '', act: (world) => world.resumeBackups() },
  metric: {
    members: 'node, key, value? (without it as before), of? node|stores',
    act: (world, m) =>
      world.setMetric(
        integerMember(m, 'node'),
        textMember(m, 'key') ?? '',
        numberMember(m, 'value'),
        choiceMember(m, 'of', ['node', 'stores'] as const),
      ),
  },
  'provision-assistant': {
    members: 'region?, fails?',
    act: (world, members) => {
      if (members.get('fails') === true) world.failNextProvisioning();
      return world.provisionAssistant(textMember(members, 'region') ?? '');
    },
  },
  'delete-assistant': { members: '', act: (world) => world.deleteAssistant() },
};

/** The actions and their members, for the help of `GET /`. */
export function describeActions(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(ACTIONS).map(([name, { members }]) => [`POST /world/${name}`, members]),
  );
}

/** Executes an action and returns its result, if any. */
export function actOnWorld(world: World, name: string, members: Members): unknown {
  const action = ACTIONS[name];
  if (action === undefined) throw new ControlError(`${name}: no such action; GET / lists them`);
  try {
    return action.act(world, members) ?? {};
  } catch (error) {
    if (error instanceof RangeError) throw new ControlError(error.message, { cause: error });
    throw error;
  }
}

function pairMember(members: Members): readonly [number, number] {
  const [a, b, ...others] = integersMember(members, 'nodes');
  if (a !== undefined && b !== undefined && others.length === 0) return [a, b];
  throw new ControlError('nodes: not two ids');
}

function replicationKind(members: Members): 'physical' | 'logical' {
  const kind = choiceMember(members, 'kind', ['physical', 'logical'] as const);
  if (kind === undefined) throw new ControlError('kind: missing');
  return kind;
}

function setProblem(world: World, members: Members): void {
  const problem = choiceMember(members, 'problem', [...RANGE_PROBLEMS, ...REPLICA_PROBLEMS]);
  if (problem === undefined) throw new ControlError('problem: missing');
  const on = members.get('on') !== false;
  world.setProblem(integerMember(members, 'range'), problem, on, numberMember(members, 'store'));
}

function openSession(world: World, members: Members): { id: string } {
  const states = ['active', 'idle_in_transaction', 'idle'] as const;
  const id = world.openSession({
    nodeId: integerMember(members, 'node'),
    applicationName: textMember(members, 'application') ?? 'opened-by-hand',
    username: textMember(members, 'user') ?? 'movr',
    state: choiceMember(members, 'state', states) ?? 'idle',
    transactionAgeMs: numberMember(members, 'transactionAgeMs') ?? 0,
  });
  return { id };
}

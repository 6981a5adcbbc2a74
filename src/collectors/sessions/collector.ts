import type { OptionSpecs, OptionValues } from '#base';
import { assertWithin, type ClusterApi, listNodes, RequestError } from '#cockroach';
import { formatValue } from '#metrics';
import { defineCollector, type CollectorPoll, type CollectorResult } from '../collector.ts';
import {
  type ApplicationSessions,
  countSession,
  listApplications,
  listUsers,
  ListedTallies,
  type Pair,
  PAIR_RANKINGS,
  sumByUser,
  pairOf,
  type UserSessions,
} from './applications.ts';
import { createRewriter, findRegexFault } from './rewrite.ts';
import {
  APPLICATION_FAMILIES,
  NODE_FAMILIES,
  NODE_KINDS,
  SESSION_FAMILIES,
  families,
} from './session-families.ts';
import {
  addTally,
  createTally,
  hostOf,
  type NodeTally,
  readSession,
  SESSION_STATES,
  sessionShape,
  type SessionTally,
} from './session.ts';

const OPTIONS = {
  page_limit: {
    kind: 'integer',
    default: 20_000,
    min: 1,
    help: 'Sessions per request; for every page all nodes list all their sessions again.',
  },
  max_applications: {
    kind: 'integer',
    default: 50,
    min: 0,
    max: 1000,
    help: 'Pairs of application and user with their own series; the others are summed as "other".',
  },
  max_users: {
    kind: 'integer',
    default: 20,
    min: 0,
    max: 1000,
    help: 'SQL users with their own series; the others are summed as "other".',
  },
  include_internal: {
    kind: 'boolean',
    default: false,
    help: 'Include sessions of the cluster itself.',
  },
  application_rewrite: {
    kind: 'rewrites',
    default: [],
    check: findRegexFault,
    help: 'Rules that merge application names, such as those with a process id. Keys of a rule: regex (RE2, anchored only as written) and replacement ($1: first group). The first match applies.',
  },
} as const satisfies OptionSpecs;

interface State {
  /** Prefix of the names of internal applications, as the server last reported it. */
  internalPrefix: string;
  readonly pairs: ListedTallies;
  readonly users: ListedTallies;
}

type Context = CollectorPoll<OptionValues<typeof OPTIONS>, State>;

export interface SessionsResult extends CollectorResult {
  /** Open sessions by node id, in ascending order, without the failed nodes. */
  readonly nodes: ReadonlyMap<number, NodeTally>;
  /** How many are at most as old as the bound, by bound in seconds; the last one, Infinity, counts all. */
  readonly byAge: ReadonlyMap<number, number>;
  /** How many queries have run for at most this long, by bound in seconds. */
  readonly queriesByAge: ReadonlyMap<number, number>;
  /** The remaining sessions first, then the listed pairs, then the remaining sessions of each listed user. */
  readonly applications: readonly ApplicationSessions[];
  /** `other` first, then those with most sessions. */
  readonly users: readonly UserSessions[];
  /** Nodes with a listed session, closed and internal ones included. */
  readonly answered: ReadonlySet<number>;
  /** Nodes whose sessions the answering node did not get; 0 where the server named none. */
  readonly failedNodes: ReadonlySet<number>;
}

/** GET /sessions/: open sessions, what they run and how old it is. */
export const sessions = defineCollector({
  name: 'sessions',
  api: 'cluster',
  help: 'Open SQL sessions by node, and by application and user: states, queries, transactions, memory and ages.',
  privilege: 'GRANT SYSTEM VIEWCLUSTERMETADATA, VIEWACTIVITYREDACTED',
  load: {
    requests: '`/sessions/`, 20,000 sessions per page',
    cost: 'The responding node queries every node for its sessions.',
  },
  request: 'GET /sessions/',
  intervalSeconds: 30,
  timeoutSeconds: 30,
  maxDuty: 0.25,
  enabledByDefault: true,
  families: SESSION_FAMILIES,
  options: OPTIONS,
  scope: 'cluster',
  inProbe: true,
  createState: (): State => ({
    internalPrefix: '$ internal',
    pairs: new ListedTallies(PAIR_RANKINGS),
    users: new ListedTallies(),
  }),

  async collect(api, context): Promise<SessionsResult> {
    const { state, options } = context;
    const rewrite = await createRewriter(options.application_rewrite);
    let count = await countSessions(api, context, rewrite);
    if (count.internalPrefix && count.internalPrefix !== state.internalPrefix) {
      state.internalPrefix = count.internalPrefix;
      // The server sends the prefix after the sessions, which were counted with the old one: list them again, once.
      if (!options.include_internal) count = await countSessions(api, context, rewrite);
    }
    const { answered, failedNodes, pairs } = count;
    // The server stopped asking nodes: those after it are missing, and it names none of them.
    if (failedNodes.has(0)) {
      throw unasked('the responding node could not ask all nodes, and does not say which');
    }
    if (answered.size === 0 && failedNodes.size > 0) {
      await assertNodeAnswered(api, context, failedNodes);
    }
    const byUser = sumByUser(pairs);
    const listedPairs = state.pairs.choose(pairs, options.max_applications);
    const listedUsers = state.users.choose(byUser, options.max_users);
    return {
      // A node may fail after some pages of its sessions: these are no numbers of the node.
      nodes: new Map(
        [...count.nodes].filter(([id]) => !failedNodes.has(id)).toSorted(([a], [b]) => a - b),
      ),
      byAge: count.byAge,
      queriesByAge: count.queriesByAge,
      applications: listApplications(pairs, listedPairs, listedUsers),
      users: listUsers(byUser, listedUsers),
      answered,
      failedNodes,
    };
  },

  samples({ nodes, byAge, queriesByAge, applications, users, answered, failedNodes }, set) {
    for (const [id, node] of nodes) {
      const labels = { node_id: String(id) };
      for (const [family, label, kinds] of NODE_KINDS) {
        for (const kind of kinds) set.set(family, { ...labels, [label]: kind }, node[kind]);
      }
      for (const { family, value } of NODE_FAMILIES) set.set(family, labels, value(node));
    }
    for (const [bound, count] of byAge) set.set(families.byAge, { le: formatValue(bound) }, count);
    for (const [bound, count] of queriesByAge) {
      set.set(families.queriesByAge, { le: formatValue(bound) }, count);
    }
    const ids = [...answered.union(failedNodes)].filter((id) => id > 0).toSorted((a, b) => a - b);
    for (const id of ids) {
      set.set(families.fanoutErrors, { node_id: String(id) }, failedNodes.has(id) ? 1 : 0);
    }
    for (const pair of applications) {
      for (const state of SESSION_STATES) {
        set.set(families.applicationSessions, { ...pair, state }, pair[state]);
      }
      for (const { family, value } of APPLICATION_FAMILIES) set.set(family, pair, value(pair));
    }
    for (const user of users) {
      for (const state of SESSION_STATES) {
        set.set(families.userSessions, { ...user, state }, user[state]);
      }
    }
  },
});

/** Upper bounds of the ages by which sessions and running queries are counted, in seconds. */
const SESSION_AGE_BOUNDS = [60, 600, 3600, 86_400, Infinity];
const QUERY_AGE_BOUNDS = [1, 10, 60, 600, 3600, Infinity];

/** Counts the open sessions of one listing. */
async function countSessions(
  api: ClusterApi,
  context: Context,
  rewrite: (application: string) => string,
) {
  const { state, options } = context;
  const nowMs = context.clock.wallMs();
  const nodes = new Map<number, NodeTally>();
  const byAge = new Map(SESSION_AGE_BOUNDS.map((bound) => [bound, 0]));
  const queriesByAge = new Map(QUERY_AGE_BOUNDS.map((bound) => [bound, 0]));
  const pairs = new Map<Pair, SessionTally>();
  const answered = new Set<number>();
  /** The hosts of clients with their node; they do not outlive the poll. */
  const hosts = new Set<string>();
  const end = await api.sessions(context, {
    limit: options.page_limit,
    shape: sessionShape,
    onSession(element, dateMs) {
      const { node_id: nodeId = 0, application_name: application = '' } = element;
      if (nodeId <= 0) return;
      answered.add(nodeId);
      assertWithin(context, 'sessions', 'nodes', answered.size, 'nodes');
      if (!options.include_internal && application.startsWith(state.internalPrefix)) return;
      const session = readSession(element, dateMs ?? nowMs);
      if (session === undefined) return;
      const node = nodes.get(nodeId) ?? { ...createTally(), clientHosts: 0 };
      nodes.set(nodeId, node);
      addTally(node, session);
      const host = hostOf(element.client_address ?? '');
      if (host !== '' && !hosts.has(`${nodeId} ${host}`)) {
        hosts.add(`${nodeId} ${host}`);
        node.clientHosts += 1;
        assertWithin(context, 'sessions', 'client hosts', hosts.size, 'clientHosts');
      }
      countAge(byAge, session.ageSeconds);
      for (const age of session.queryAges) countAge(queriesByAge, age);
      const pair = pairOf(rewrite(application), element.username ?? '');
      if (!countSession(pairs, pair, session)) context.limits.add('items');
    },
  });
  return { nodes, byAge, queriesByAge, pairs, answered, ...end };
}

function countAge(buckets: Map<number, number>, ageSeconds: number): void {
  for (const [bound, count] of buckets) {
    if (ageSeconds <= bound) buckets.set(bound, count + 1);
  }
}

/**
 * No session in the response means none in the cluster only if some node answered. Throws when all of them failed. Example:
 * nodes 1 and 2 are live and 3 is dead. Errors of 2 and 3 leave node 1, which has no session; errors of 1 and 2 leave none.
 */
async function assertNodeAnswered(
  api: ClusterApi,
  context: Context,
  failed: ReadonlySet<number>,
): Promise<void> {
  // A node that is down answered nothing, whether the server names it or not.
  const { toScan, toSkip } = await listNodes(api, context);
  const mayAnswer = toScan.length > 0 ? toScan : toSkip;
  if (!mayAnswer.every((id) => failed.has(id))) return;
  throw unasked('all nodes reported errors and none listed a session');
}

/** The failure of a response that came, but for no node. */
function unasked(what: string): RequestError {
  return new RequestError('other', `sessions: ${what}`, {
    endpoint: 'sessions',
    remedy: 'check the log of the node that answered, and whether the nodes reach each other',
  });
}

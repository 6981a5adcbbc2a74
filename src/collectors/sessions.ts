import type { ClusterApi, SessionsEnd } from '../cluster/api.ts';
import { clusterCollector, type PollContext, type Rewrite } from './collector.ts';
import { ApplicationTallies, type Pair, pairOf } from './sessions/applications.ts';
import * as families from './sessions/families.ts';
import { chooseMembers, type Membership } from './sessions/membership.ts';
import { type ClusterTally, countSession, createClusterTally } from './sessions/node-tally.ts';
import { requireSomebodyAnswered } from './sessions/nobody.ts';
import { publishApplications, publishFanout, publishTally } from './sessions/publish.ts';
import { createRewriter, findRegexFault, type Rewriter } from './sessions/rewrite.ts';
import { isClosed, readSession, sessionShape } from './sessions/session.ts';

interface Options {
  readonly page_limit: number;
  readonly max_applications: number;
  readonly include_internal: boolean;
  readonly application_rewrite: readonly Rewrite[];
}

interface Memory {
  /** How names of internal applications begin, as the server last said. */
  internalPrefix: string;
  members: Membership;
}

/** What one listing of the sessions says. */
interface Count extends SessionsEnd {
  readonly tally: ClusterTally;
  readonly applications: ApplicationTallies;
  /** Nodes of which a session was listed, be it closed or internal. */
  readonly answered: ReadonlySet<number>;
}

/** GET /sessions/: who is connected, what is running, and how old it is. */
export const sessions = clusterCollector({
  name: 'sessions',
  help: 'Open SQL sessions by node, and by application and user: states, queries, transactions, memory and ages.',
  privilege: 'GRANT SYSTEM VIEWACTIVITYREDACTED',
  intervalSeconds: 30,
  timeoutSeconds: 30,
  maxDuty: 0.25,
  enabledByDefault: true,
  families: Object.values(families),
  options: {
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
      help: 'Pairs of application and user with series of their own; the others are summed as "other".',
    },
    include_internal: {
      kind: 'boolean',
      default: false,
      help: 'Count sessions of the cluster itself, too.',
    },
    application_rewrite: {
      kind: 'rewrites',
      default: [],
      check: findRegexFault,
      help: 'Rules that make one application name of many, for names with a process id in them; the first that matches is used.',
    },
  },
  createMemory: (): Memory => ({ internalPrefix: '$ internal', members: new Map() }),

  async collect(api, sheet, context) {
    const { memory, options } = context;
    const { tally, applications, answered, failedNodes } = await countSessions(api, context);
    if (answered.size === 0 && failedNodes.size > 0) {
      await requireSomebodyAnswered(api, context, failedNodes);
    }
    const { byPair } = applications;
    memory.members = chooseMembers(byPair, memory.members, options.max_applications);
    publishTally(sheet, tally);
    publishFanout(sheet, answered, failedNodes);
    publishApplications(sheet, applications, memory.members);
    return undefined;
  },
});

async function countSessions(
  api: ClusterApi,
  context: PollContext<Options, Memory>,
): Promise<Count> {
  const { memory, options } = context;
  const rewrite = createRewriter(options.application_rewrite);
  const count = await countOnce(api, context, rewrite);
  const { internalPrefix } = count;
  if (!internalPrefix || internalPrefix === memory.internalPrefix) return count;
  memory.internalPrefix = internalPrefix;
  // The server names the prefix behind the sessions, when they have been counted already by what was known before.
  // So the first poll of a server with another prefix asks twice; remembered, it is right from then on.
  return options.include_internal ? count : countOnce(api, context, rewrite);
}

async function countOnce(
  api: ClusterApi,
  context: PollContext<Options, Memory>,
  rewrite: Rewriter,
): Promise<Count> {
  const { memory, options } = context;
  const nowMs = context.nowMs();
  const tally = createClusterTally();
  const applications = new ApplicationTallies(new Set<Pair>(memory.members.keys()));
  const answered = new Set<number>();
  const end = await api.sessions(context, {
    limit: options.page_limit,
    shape: sessionShape,
    onSession(element) {
      const { node_id: nodeId = 0, application_name: application = '' } = element;
      if (nodeId <= 0) return;
      answered.add(nodeId);
      if (isClosed(element)) return;
      if (!options.include_internal && application.startsWith(memory.internalPrefix)) return;
      const session = readSession(element, nowMs);
      countSession(tally, session);
      applications.count(pairOf(rewrite(application), element.username ?? ''), session);
    },
  });
  return { tally, applications, answered, ...end };
}

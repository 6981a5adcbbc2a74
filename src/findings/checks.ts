import type { Collector, CollectorResult, CollectorWith } from '../collectors/collector.ts';
import { nodes } from '../collectors/nodes/collector.ts';
import { sessions } from '../collectors/sessions/collector.ts';
import { SESSION_STATES } from '../collectors/sessions/session.ts';
import type { ClusterConfig } from '../config/schema.ts';
import { diagnose } from '../diagnosis/diagnose.ts';
import { grantee } from '../diagnosis/rules.ts';
import { formatCount } from '../format.ts';
import type { HttpClient } from '../http/client.ts';
import type { Conditions } from '../polling/conditions.ts';
import type { Api } from '../vocabulary.ts';

/** The results of a cluster; undefined while a collector has no data that is young enough to be shown. */
export interface PollResults {
  result<R extends CollectorResult>(collector: CollectorWith<Api, R>): R | undefined;
}

/** Reports URLs that fail while others work, so that no poll does. */
export function checkUrls(
  conditions: Conditions,
  collector: Collector,
  http: Pick<HttpClient, 'upstreams'>,
  config: ClusterConfig,
): void {
  const upstreams = http.upstreams();
  // The failed polls report it.
  if (!upstreams.some(({ state }) => state === 'closed')) return;
  for (const { name, state, lastFailure } of upstreams) {
    const cause = state === 'closed' ? undefined : diagnose(lastFailure, collector, config);
    conditions.update(
      `URL ${name}`,
      cause && {
        key: `URL ${name}`,
        message: `one of ${upstreams.length} URLs fails, the others are used: ${cause.cause}`,
        remedy: cause.remedy,
      },
    );
  }
}

/** Clients connect and leave between the polls of nodes and sessions: one contradiction proves nothing. */
const MIN_CONTRADICTIONS = 3;

/** Reports that the user sees no sessions of others although clients are connected; to be called after each poll. */
export function createSessionsCheck(conditions: Conditions, { cluster_api: login }: ClusterConfig) {
  const own = login?.username?.toLowerCase();
  let contradictions = 0;
  return (cluster: PollResults): void => {
    const listed = cluster.result(sessions);
    const known = cluster.result(nodes)?.nodes;
    if (own === undefined || listed === undefined || known === undefined) return;
    const connections = known
      .filter(({ isFresh }) => isFresh)
      .reduce((sum, { metrics }) => sum + (metrics.get('sql.conns') ?? 0), 0);
    const others = listed.applications.filter(({ user }) => user !== own);
    const seesOthers = others.some((one) => SESSION_STATES.some((state) => one[state] > 0));
    const isPlausible = seesOthers || connections === 0 || listed.failedNodes.size > 0;
    contradictions = isPlausible ? 0 : contradictions + 1;
    const count = formatCount(connections);
    const condition = {
      key: 'own sessions',
      message: `sessions: the user ${own} sees only its own sessions, although the nodes count ${count} connections`,
      remedy: `run GRANT SYSTEM VIEWACTIVITYREDACTED TO ${grantee(login)};`,
    };
    const isKnown = contradictions >= MIN_CONTRADICTIONS;
    conditions.update('sessions of other users', isKnown ? condition : undefined);
  };
}

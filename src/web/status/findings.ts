import type { ClusterFacts } from './facts.ts';
import { findInCollectors } from './collector-findings.ts';
import { findInNodes } from './node-findings.ts';
import { findInRanges } from './range-findings.ts';
import { sayArgument, sayDuration, sayList } from './words.ts';

/** `unknown`: nothing has been seen of the cluster yet. */
export type State = 'well' | 'warning' | 'trouble' | 'unknown';

/** Something that a person should know. */
export interface Finding {
  /** The same as long as it is the same finding. */
  readonly key: string;
  /** A notice is nothing bad. */
  readonly level: 'trouble' | 'warning' | 'notice';
  readonly text: string;
  /** What to do about it. */
  readonly next: string;
  /** RFC 3339, where the data itself says since when. */
  readonly since?: string | undefined;
}

/** The worst first. */
export const LEVELS: readonly string[] = ['trouble', 'warning', 'notice'];
/** An open transaction without a query holds locks and keeps old versions from being collected. */
const OLD_TRANSACTION_SECONDS = 300;

/** The worst first. */
export function findFindings(facts: ClusterFacts): readonly Finding[] {
  const findings = [
    ...findInCollectors(facts),
    ...findInNodes(facts),
    ...findInRanges(facts),
    ...findInSessions(facts),
    ...findInAssistant(facts),
  ];
  return findings.toSorted((a, b) => LEVELS.indexOf(a.level) - LEVELS.indexOf(b.level));
}

/** What the findings make of the cluster. */
export function judge({ collectors }: ClusterFacts, findings: readonly Finding[]): State {
  const worst = findings[0]?.level;
  if (worst === 'trouble' || worst === 'warning') return worst;
  return collectors.some(({ hasData }) => hasData) ? 'well' : 'unknown';
}

function findInSessions({ name, sessions }: ClusterFacts): readonly Finding[] {
  if (sessions === undefined) return [];
  const findings: Finding[] = [];
  const old = sessions.applications
    .filter(({ oldestIdleTransactionSeconds: age }) => age >= OLD_TRANSACTION_SECONDS)
    .toSorted((a, b) => b.oldestIdleTransactionSeconds - a.oldestIdleTransactionSeconds);
  const [oldest] = old;
  if (oldest !== undefined) {
    const age = sayDuration(oldest.oldestIdleTransactionSeconds);
    const more = old.length > 1 ? ` ${old.length - 1} more do so for over 5 min.` : '';
    findings.push({
      key: 'old transactions',
      level: 'warning',
      text: `Application ${oldest.application} of user ${oldest.user} has held a transaction open for ${age} without a query.${more}`,
      next: `It keeps its locks: \`crdb-exporter sessions --cluster ${sayArgument(name)} --older-than 5m\` names the sessions.`,
    });
  }
  if (sessions.missingNodes.length > 0) {
    findings.push({
      key: 'missing sessions',
      level: 'notice',
      text: `The sessions of node ${sayList(sessions.missingNodes)} are missing: the answering node did not get them.`,
      next: 'Usual while a node is down.',
    });
  }
  return findings;
}

function findInAssistant({ assistant }: ClusterFacts): readonly Finding[] {
  const since = assistant?.statusSince;
  if (assistant?.status === 'failed') {
    const next =
      '`crdb-exporter cloud assistant get` shows its last error; delete it before a new try.';
    const text = 'The migration assistant has failed.';
    return [{ key: 'assistant', level: 'trouble', text, next, since }];
  }
  if (assistant?.health !== 'unavailable') return [];
  const text = 'The migration assistant is unavailable.';
  const next = '`crdb-exporter cloud assistant get` shows its state.';
  return [{ key: 'assistant', level: 'warning', text, next }];
}

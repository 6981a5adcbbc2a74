import { type CloudResult, HEALTHS, STATUSES } from '../collectors/cloud.ts';
import { type Problem, toTime } from './problem.ts';

/** The migration assistant. */
export interface AssistantStatus {
  readonly exists: boolean;
  readonly status: string | undefined;
  readonly health: string | undefined;
  readonly region: string | undefined;
  /** When this exporter first saw the current status. */
  readonly statusSince: string | undefined;
}

/** Describes the migration assistant; all but `exists` is absent when there is none. */
export function readAssistant({ assistant }: CloudResult): AssistantStatus {
  return {
    exists: assistant !== undefined,
    status: stateOf(STATUSES, assistant?.status),
    health: stateOf(HEALTHS, assistant?.health),
    region: assistant?.region,
    statusSince: toTime(assistant?.statusSinceMs),
  };
}

/** `other` for a value that this exporter does not know, as on /metrics. */
function stateOf(known: readonly string[], state: string | undefined): string | undefined {
  return state === undefined || known.includes(state) ? state : 'other';
}

export function assistantProblems({
  status,
  health,
  statusSince: since,
}: AssistantStatus): readonly Problem[] {
  const issue = { key: 'assistant', about: 'assistant' } as const;
  if (status === 'failed') {
    const text = 'The migration assistant has failed.';
    const next =
      '`crdb-exporter cloud assistant get` shows its last error. Delete it before you retry.';
    return [{ ...issue, alert: 'CrdbMigrationAssistantFailing', text, next, since }];
  }
  if (health !== 'unavailable' && health !== 'unknown') return [];
  const text = `The health of the migration assistant is ${health}.`;
  const next = '`crdb-exporter cloud assistant get` shows its state.';
  return [{ ...issue, alert: 'CrdbMigrationAssistantFailing', text, next }];
}

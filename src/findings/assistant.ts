import { type CloudResult, HEALTHS, STATUSES } from '../collectors/cloud/collector.ts';
import { toTime } from '../format.ts';
import type { AssistantStatus, Problem } from './status.ts';

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

export function assistantProblems(assistant: AssistantStatus): readonly Problem[] {
  const { status, health, statusSince } = assistant;
  const hasFailed = status === 'failed';
  if (!hasFailed && health !== 'unavailable' && health !== 'unknown') return [];
  return [
    {
      key: 'assistant',
      about: 'assistant',
      alert: 'CrdbMigrationAssistantFailing',
      text: hasFailed
        ? 'The migration assistant has failed.'
        : `The health of the migration assistant is ${health}.`,
      next: hasFailed
        ? '`crdb-exporter cloud assistant get` shows its last error. Delete it before you retry.'
        : '`crdb-exporter cloud assistant get` shows its state.',
      since: hasFailed ? statusSince : undefined,
    },
  ];
}

import { formatDuration, toTime } from '#base';
import type { CloudResult } from '#collectors';
import type { AssistantStatus, Problem } from './status.ts';

export function readAssistant({ assistant }: CloudResult): AssistantStatus {
  return {
    exists: assistant !== undefined,
    status: assistant?.status,
    health: assistant?.health,
    region: assistant?.region,
    statusSince: toTime(assistant?.statusSinceMs),
  };
}

/** An assistant is provisioned or deleted within minutes; one that takes longer is stuck. */
const STUCK_SECONDS = 2_700;

export function assistantProblems(assistant: AssistantStatus, nowMs: number): readonly Problem[] {
  const text = describeTrouble(assistant, nowMs);
  if (text === undefined) return [];
  const hasFailed = assistant.status === 'failed';
  return [
    {
      key: 'assistant',
      about: 'assistant',
      alert: 'CrdbMigrationAssistantFailing',
      text,
      next: hasFailed
        ? '`crdb-exporter cloud assistant get` shows its last error. Delete it before you retry.'
        : '`crdb-exporter cloud assistant get` shows its state.',
      since: hasFailed ? assistant.statusSince : undefined,
    },
  ];
}

function describeTrouble(
  { status = '', health = '', statusSince }: AssistantStatus,
  nowMs: number,
): string | undefined {
  if (status === 'failed') return 'The migration assistant has failed.';
  if (['unavailable', 'unknown'].includes(health))
    return `The health of the migration assistant is ${health}.`;
  const seconds = statusSince === undefined ? 0 : (nowMs - Date.parse(statusSince)) / 1000;
  return ['pending', 'deleting'].includes(status) && seconds > STUCK_SECONDS
    ? `The migration assistant has been ${status} for ${formatDuration(seconds)}.`
    : undefined;
}

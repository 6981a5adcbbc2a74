import { type Infer, object, string, time } from '../json/shape.ts';
import { gauge } from '../metrics/family.ts';
import type { Sheet } from '../metrics/sheet.ts';
import { cloudCollector } from './collector.ts';

const SOURCE = 'GET /api/v1/clusters/{cluster_id}/migration-assistant';

/** Neither address nor sign-in, which the answer holds, too. */
const assistantShape = object({
  id: string(),
  cluster_id: string(),
  deployed_region: string(),
  status: string(),
  health: string(),
  created_at: time(),
  updated_at: time(),
});

const STATUSES = ['pending', 'running', 'deleting', 'failed', 'other'] as const;
const HEALTHS = ['not_computed', 'healthy', 'unavailable', 'unknown', 'other'] as const;

const EXISTS = gauge({
  name: 'crdb_cloud_migration_assistant_exists',
  help: `Whether the cluster has a migration assistant: 0 when the service knows none (${SOURCE}). Polled; crdb_exporter_collector_last_success_timestamp_seconds{collector="cloud"} tells when.`,
  labels: [],
});

const STATUS = gauge({
  name: 'crdb_cloud_migration_assistant_status',
  help: `Status of the migration assistant as a state set: 1 for the present one; all 0 when there is no assistant (${SOURCE}, status).`,
  labels: ['status'],
});

const HEALTH = gauge({
  name: 'crdb_cloud_migration_assistant_health',
  help: `Health of the migration assistant as a state set: 1 for the present one; all 0 when there is no assistant (${SOURCE}, health).`,
  labels: ['health'],
});

const INFO = gauge({
  name: 'crdb_cloud_migration_assistant_info',
  help: `Id, cluster and region of the migration assistant (${SOURCE}). Always 1.`,
  labels: ['assistant_id', 'cluster_id', 'deployed_region'],
});

const CREATED = gauge({
  name: 'crdb_cloud_migration_assistant_created_timestamp_seconds',
  help: `Unix time in seconds at which the migration assistant was created (${SOURCE}, created_at).`,
  labels: [],
});

const UPDATED = gauge({
  name: 'crdb_cloud_migration_assistant_updated_timestamp_seconds',
  help: `Unix time in seconds at which the migration assistant was last updated (${SOURCE}, updated_at).`,
  labels: [],
});

const STATUS_SINCE = gauge({
  name: 'crdb_cloud_migration_assistant_status_since_timestamp_seconds',
  help: 'Unix time in seconds of the first poll of this exporter that saw the present status of the migration assistant.',
  labels: [],
});

interface Memory {
  /** The status of which assistant was first seen when; undefined while there is none. */
  seen: { readonly id: string; readonly status: string; readonly sinceMs: number } | undefined;
}

/** GET …/migration-assistant: whether there is a migration assistant and how it fares. */
export const cloud = cloudCollector({
  name: 'cloud',
  help: 'Existence, status and health of the migration assistant.',
  privilege: 'the role CLUSTER_ADMIN or CLUSTER_OPERATOR_WRITER for the service account',
  intervalSeconds: 60,
  timeoutSeconds: 30,
  maxDuty: 0.25,
  enabledByDefault: true,
  families: [EXISTS, STATUS, HEALTH, INFO, CREATED, UPDATED, STATUS_SINCE],
  options: {},
  createMemory: (): Memory => ({ seen: undefined }),

  async collect(api, sheet, context) {
    const { memory, nowMs } = context;
    const assistant = await api.assistant(context, assistantShape);
    // Good JSON of something else, as an error with status 200, is no assistant.
    if (assistant?.id === '') {
      return { reason: 'decode', message: 'assistant: the answer names no assistant' };
    }
    if (assistant === undefined) memory.seen = undefined;
    else publishAssistant(sheet, assistant, remember(memory, assistant, nowMs()));
    sheet.set(EXISTS, {}, assistant === undefined ? 0 : 1);
    // What the service does not say is neither a known status nor none.
    const { status = '', health = '' } = assistant ?? {};
    sheet.states(STATUS, {}, 'status', STATUSES, assistant && status.toLowerCase());
    sheet.states(HEALTH, {}, 'health', HEALTHS, assistant && health.toLowerCase());
    return undefined;
  },
});

type Assistant = Infer<typeof assistantShape>;

/** Since when the present status is seen, ms. */
function remember(memory: Memory, { id = '', status = '' }: Assistant, nowMs: number): number {
  const { seen } = memory;
  if (seen?.id === id && seen.status === status) return seen.sinceMs;
  memory.seen = { id, status, sinceMs: nowMs };
  return nowMs;
}

function publishAssistant(sheet: Sheet, assistant: Assistant, sinceMs: number): void {
  const { id = '', cluster_id = '', deployed_region = '' } = assistant;
  sheet.info(INFO, { assistant_id: id, cluster_id, deployed_region });
  sheet.set(CREATED, {}, toSeconds(assistant.created_at));
  sheet.set(UPDATED, {}, toSeconds(assistant.updated_at));
  sheet.set(STATUS_SINCE, {}, toSeconds(sinceMs));
}

function toSeconds(milliseconds: number | undefined): number | undefined {
  return milliseconds === undefined ? undefined : milliseconds / 1000;
}

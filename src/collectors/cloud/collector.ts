import { WallClockSteps } from '#base';
import { nameText, object, string, time } from '#json';
import { cleanLabelValue, gauge, knownState } from '#metrics';
import { defineCollector, type CollectorResult } from '../collector.ts';

/** The fields that are read; the address and the credentials of the response are left out. */
export const assistantShape = object({
  id: nameText(),
  cluster_id: nameText(),
  deployed_region: nameText(),
  status: nameText(),
  health: nameText(),
  created_at: time(),
  updated_at: time(),
});

/** The fields of an assistant, also those that only the commands show, with times as the text that the service sends. */
export const assistantDetails = object({
  ...assistantShape.fields,
  created_at: nameText(),
  updated_at: nameText(),
  url: string(),
  username: string(),
  password: string(),
  bucket_grantee: string(),
  last_error: string(),
});

const STATUSES = ['pending', 'running', 'deleting', 'failed', 'other'] as const;
const HEALTHS = ['not_computed', 'healthy', 'unavailable', 'unknown', 'other'] as const;

const families = {
  exists: gauge({
    name: 'crdb_cloud_migration_assistant_exists',
    help: 'Whether the cluster has a migration assistant.',
    unit: '0 or 1',
  }),
  status: gauge({
    name: 'crdb_cloud_migration_assistant_status',
    help: 'Status of the migration assistant as a state set: 1 for the current status.',
    labels: ['status'],
    unit: '0 or 1',
    field: 'status',
    notes: 'All 0 without an assistant.',
  }),
  health: gauge({
    name: 'crdb_cloud_migration_assistant_health',
    help: 'Health of the migration assistant as a state set: 1 for the current health.',
    labels: ['health'],
    unit: '0 or 1',
    field: 'health',
    notes: 'All 0 without an assistant.',
  }),
  info: gauge({
    name: 'crdb_cloud_migration_assistant_info',
    help: 'Id, cluster and region of the migration assistant. Always 1.',
    labels: ['assistant_id', 'cluster_id', 'deployed_region'],
  }),
  created: gauge({
    name: 'crdb_cloud_migration_assistant_created_timestamp_seconds',
    help: 'Creation of the migration assistant, Unix time in seconds.',
    field: 'created_at',
  }),
  updated: gauge({
    name: 'crdb_cloud_migration_assistant_updated_timestamp_seconds',
    help: 'Last update of the migration assistant, Unix time in seconds.',
    field: 'updated_at',
  }),
  statusSince: gauge({
    name: 'crdb_cloud_migration_assistant_status_since_timestamp_seconds',
    help: 'First poll that saw the current status of the migration assistant, Unix time in seconds.',
  }),
};

/** The migration assistant, as a poll found it. */
export interface CloudResult extends CollectorResult {
  /** Undefined when the cluster has none. */
  readonly assistant: Assistant | undefined;
}

/** A migration assistant; missing fields are empty or undefined. */
interface Assistant {
  readonly id: string;
  readonly clusterId: string;
  readonly region: string;
  /** One of STATUSES. */
  readonly status: string;
  /** One of HEALTHS. */
  readonly health: string;
  readonly createdMs: number | undefined;
  readonly updatedMs: number | undefined;
  /** When this status was first seen. */
  readonly statusSinceMs: number;
}

interface State {
  readonly wallClock: WallClockSteps;
  /** When the current status of the current assistant was first seen. */
  seen?: { readonly assistant: string; readonly status: string; sinceMs: number };
}

/** GET …/migration-assistant: existence, status and health of the migration assistant. */
export const cloud = defineCollector({
  name: 'cloud',
  api: 'cloud',
  help: 'Existence, status and health of the migration assistant.',
  privilege: 'the role ORG_ADMIN, CLUSTER_ADMIN or CLUSTER_OPERATOR_WRITER',
  load: { requests: 'one request to the Cloud API', cost: 'None.' },
  request: 'GET /api/v1/clusters/{cluster_id}/migration-assistant',
  scope: 'cluster',
  inProbe: true,
  intervalSeconds: 60,
  timeoutSeconds: 30,
  maxDuty: 0.25,
  enabledByDefault: true,
  families: Object.values(families),
  options: {},
  createState: (): State => ({ wallClock: new WallClockSteps() }),

  async collect(api, context): Promise<CloudResult> {
    const { state, clock } = context;
    const stepMs = state.wallClock.read(clock.wallMs(), clock.monotonicMs());
    if (state.seen !== undefined) state.seen.sinceMs += stepMs;
    const found = await api.assistant(context, assistantShape);
    if (found === undefined) {
      delete state.seen;
      return { assistant: undefined };
    }
    const id = clean(found.id);
    const status = clean(found.status).toLowerCase();
    // One that was created again between two polls is another one, also under the same id.
    const assistant = `${id} ${found.created_at}`;
    if (state.seen?.assistant !== assistant || state.seen.status !== status) {
      state.seen = { assistant, status, sinceMs: clock.wallMs() };
    }
    const shown = {
      id,
      clusterId: clean(found.cluster_id),
      region: clean(found.deployed_region),
      status: knownState(STATUSES, status),
      health: knownState(HEALTHS, clean(found.health).toLowerCase()),
      createdMs: found.created_at,
      updatedMs: found.updated_at,
      statusSinceMs: state.seen.sinceMs,
    };
    return { assistant: shown };
  },

  samples({ assistant }, set) {
    if (assistant !== undefined) {
      const { id, clusterId, region, createdMs, updatedMs, statusSinceMs } = assistant;
      set.info(families.info, { assistant_id: id, cluster_id: clusterId, deployed_region: region });
      set.set(families.created, {}, createdMs && createdMs / 1000);
      set.set(families.updated, {}, updatedMs && updatedMs / 1000);
      set.set(families.statusSince, {}, statusSinceMs / 1000);
    }
    set.set(families.exists, {}, assistant === undefined ? 0 : 1);
    set.states(families.status, {}, 'status', STATUSES, assistant?.status);
    set.states(families.health, {}, 'health', HEALTHS, assistant?.health);
  },
});

function clean(text = ''): string {
  return cleanLabelValue(text);
}

import type { Figures } from './figures.ts';
import { toTime } from './nodes.ts';

/** The migration assistant; all but `exists` is absent when there is none. */
export interface AssistantStatus {
  readonly exists: boolean;
  readonly status: string | undefined;
  readonly health: string | undefined;
  readonly region: string | undefined;
  /** When this exporter first saw the present status. */
  readonly statusSince: string | undefined;
}

/** Undefined while there is no present data of the Cloud API. */
export function readAssistant(figures: Figures): AssistantStatus | undefined {
  const exists = figures.value('crdb_cloud_migration_assistant_exists');
  if (exists === undefined) return undefined;
  const [info] = figures.all('crdb_cloud_migration_assistant_info');
  return {
    exists: exists === 1,
    status: figures.state('crdb_cloud_migration_assistant_status', 'status'),
    health: figures.state('crdb_cloud_migration_assistant_health', 'health'),
    region: info?.labels['deployed_region'],
    statusSince: toTime(
      figures.value('crdb_cloud_migration_assistant_status_since_timestamp_seconds'),
    ),
  };
}

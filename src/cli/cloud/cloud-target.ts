import type { CloudControl } from '../../cloud/api.ts';
import { usageError } from '../exit.ts';
import type { Target } from '../target.ts';

/** The Cloud API of the target. */
export function cloudApiOf({ apis, config }: Target): CloudControl {
  if (apis.cloud !== undefined) return apis.cloud.api;
  throw usageError(
    `the cluster ${config.name} has no cloud_api: give --cloud.cluster-id and --cloud.token-file, or the same in the file`,
  );
}

/** Where a change happens, for the person who is asked. */
export function describeCluster({ config }: Target): string {
  const { cluster_id = '', url = '' } = config.cloud_api ?? {};
  return `cluster ${config.name} (${cluster_id} at ${url})`;
}

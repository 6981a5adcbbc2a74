import { object } from '../json/shape.ts';
import { gauge } from '../metrics/family.ts';
import { clusterCollector } from './collector.ts';

const USERS = gauge({
  name: 'crdb_users',
  help: 'SQL users of the cluster, roles left out (GET /users/). Polled; crdb_exporter_collector_last_success_timestamp_seconds{collector="users"} tells when.',
  labels: [],
});

/** GET /users/: how many SQL users there are. */
export const users = clusterCollector({
  name: 'users',
  help: 'Number of SQL users; needs SELECT on system.users.',
  privilege: 'GRANT SELECT ON TABLE system.users',
  intervalSeconds: 600,
  timeoutSeconds: 30,
  maxDuty: 0.25,
  enabledByDefault: false,
  families: [USERS],
  options: {},
  createMemory: () => undefined,

  async collect(api, sheet, context) {
    let count = 0;
    await api.users(context, {
      // Users are only counted: their names are not read.
      shape: object({}),
      onUser() {
        count += 1;
      },
    });
    sheet.set(USERS, {}, count);
    return undefined;
  },
});

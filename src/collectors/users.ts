import { object } from '#json';
import { gauge } from '#metrics';
import { defineCollector, type CollectorResult } from './collector.ts';

const USERS = gauge({
  name: 'crdb_users',
  help: 'SQL users of the cluster, without roles.',
});

/** GET /users/: the number of SQL users. */
export const users = defineCollector({
  name: 'users',
  api: 'cluster',
  help: 'Number of SQL users; needs SELECT on system.users.',
  privilege: 'GRANT SELECT ON system.users',
  load: { requests: '`/users/`', cost: 'One SQL query.' },
  request: 'GET /users/',
  intervalSeconds: 600,
  timeoutSeconds: 30,
  maxDuty: 0.25,
  enabledByDefault: false,
  families: [USERS],
  options: {},
  scope: 'cluster',
  inProbe: true,
  createState: () => undefined,

  async collect(api, context): Promise<CollectorResult & { readonly count: number }> {
    let count = 0;
    await api.users(context, {
      // Users are only counted: their names are not read.
      shape: object({}),
      onUser() {
        count += 1;
      },
    });
    return { count };
  },

  samples({ count }, set) {
    set.set(USERS, {}, count);
  },
});

import { defineCollector } from '../../src/collectors/collector.ts';
import { object } from '../../src/json/shape.ts';

/** A collector that the program does not know, with a privilege of its own and without metrics. */
export const orders = defineCollector({
  name: 'orders',
  api: 'cluster',
  help: 'Orders.',
  request: 'GET /users/',
  privilege: 'GRANT SELECT ON TABLE orders',
  scope: 'cluster',
  inProbe: true,
  intervalSeconds: 60,
  timeoutSeconds: 10,
  maxDuty: 1,
  enabledByDefault: true,
  families: [],
  options: {},
  createState: () => undefined,
  async collect(api, context) {
    await api.users(context, { shape: object({}), onUser: () => undefined });
    return {};
  },
  samples: () => undefined,
});

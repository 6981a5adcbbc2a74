import { COLLECTORS } from '../../src/collectors/all-collectors.ts';
import { type Collector, defineCollector } from '../../src/collectors/collector.ts';
import { object } from '../../src/json/index.ts';

/** A collector that the program does not know, with a privilege of its own and without metrics. */
export const orders = defineCollector({
  name: 'orders',
  api: 'cluster',
  help: 'Orders.',
  request: 'GET /users/',
  privilege: 'GRANT SELECT ON TABLE orders',
  load: { requests: 'none', cost: 'None.' },
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

/** Keys of collectors beside `enabled`, by the name of the collector. */
type Settings = Readonly<Record<string, object>>;

/** The line `collectors` of a configuration that enables these collectors and disables all others. */
export function onlyCollectors(settings: Settings): string {
  const names = COLLECTORS.map(({ name }) => name);
  const unknown = Object.keys(settings).filter((name) => !names.includes(name));
  if (unknown.length > 0) throw new Error(`no collector: ${unknown.join(', ')}`);
  const all = names.map((name) => [name, { enabled: name in settings, ...settings[name] }]);
  return `collectors: ${JSON.stringify(Object.fromEntries(all))}\n`;
}

/** What a collector needs to have something to poll: the simulator knows the statement. */
const NEEDED: Settings = {
  sql: {
    queries: [
      {
        name: 'constraints',
        help: 'Ranges that violate a replication constraint.',
        sql: 'SELECT zone_id, type, violating_ranges FROM system.replication_constraint_stats',
        labels: ['zone_id', 'type'],
        values: { violating_ranges: 'gauge' },
      },
    ],
  },
};

/** The line `collectors` of a configuration that enables all, also those that are off by default. */
export function everyCollector(settings: Settings): string {
  const all = COLLECTORS.map(({ name }) => [name, settings[name] ?? NEEDED[name] ?? {}]);
  return onlyCollectors({ ...Object.fromEntries(all), ...settings });
}

/** Names of the collectors that are on by default in a cluster with these APIs, in the order of the list. */
export function defaultCollectors(...apis: readonly Collector['api'][]): readonly string[] {
  const enabled = COLLECTORS.filter(
    ({ api, enabledByDefault }) => enabledByDefault && apis.includes(api),
  );
  return enabled.map(({ name }) => name);
}

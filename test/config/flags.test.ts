import { expect, test } from 'vitest';
import { COLLECTORS } from '../../src/collectors/index.ts';
import { listFlags } from '../../src/config/flags.ts';

test('the flags follow from the schema', () => {
  const flags = listFlags(COLLECTORS);
  expect(flags.map(({ flag }) => flag)).toEqual([
    'config.file',
    'web.listen-address',
    'web.telemetry-path',
    'web.config.file',
    'web.enable-lifecycle',
    'web.max-requests',
    'web.max-probes',
    'web.protect-probes',
    'log.level',
    'log.format',
    'shard.index',
    'shard.count',
    'shard.name',
    'config.auto-reload',
    'cluster.name',
    'cluster.url',
    'cluster.username',
    'cluster.password-file',
    'cluster.token-file',
    'cluster.ca-file',
    'cloud.url',
    'cloud.cluster-id',
    'cloud.token-file',
    ...COLLECTORS.map(({ name }) => `collector.${name}`),
  ]);
  expect(flags.filter(({ isList }) => isList).map(({ flag }) => flag)).toEqual([
    'web.listen-address',
    'cluster.url',
  ]);
  expect(flags.find(({ flag }) => flag === 'web.listen-address')).toEqual({
    path: 'web.listen_address',
    flag: 'web.listen-address',
    variable: 'CRDB_EXPORTER_WEB_LISTEN_ADDRESS',
    valueType: 'address',
    isList: true,
    help: 'Addresses to listen on: host:port, :port for all interfaces, [::1]:port or unix:/path.',
    default: [':10137'],
    format: expect.any(Function),
  });
  expect(flags.find(({ flag }) => flag === 'collector.users')).toMatchObject({
    path: 'collectors.users.enabled',
    variable: 'CRDB_EXPORTER_COLLECTOR_USERS',
    valueType: 'boolean',
    default: false,
  });
});

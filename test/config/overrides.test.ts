import { expect, test } from 'vitest';
import { COLLECTORS } from '../../src/collectors/index.ts';
import { listConfigKeys } from '../../src/config/describe.ts';
import { listFlags } from '../../src/config/sources.ts';

test('the flags follow from the schema', () => {
  const flags = listFlags(COLLECTORS);
  expect(flags.map(({ flag }) => flag)).toEqual([
    'config.file',
    'web.listen-address',
    'web.external-url',
    'web.telemetry-path',
    'web.config.file',
    'web.enable-lifecycle',
    'web.max-requests',
    'web.max-probes',
    'web.protect-probes',
    'web.systemd-socket',
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
    'cluster.virtual-cluster',
    'cluster.ca-file',
    'cluster.cert-file',
    'cluster.key-file',
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

/** Of a collector of each API and kind of option; the others have the same keys. */
const SOME = COLLECTORS.filter(({ name }) => ['nodes', 'sessions', 'tables'].includes(name));

test('every key has its type, its default and its variable', () => {
  const keys = listConfigKeys(SOME).filter(({ path }) => !path.startsWith('thresholds.'));
  const lines = keys.map((key) => {
    const { path, valueType, isList, variable = '-' } = key;
    const type = `${valueType}${isList ? '[]' : ''}`;
    return [path, type, JSON.stringify(key.default) ?? '-', variable].join(' ');
  });
  expect(lines.join('\n')).toMatchInlineSnapshot(`
    "web.listen_address address[] [":10137"] CRDB_EXPORTER_WEB_LISTEN_ADDRESS
    web.external_url url "" CRDB_EXPORTER_WEB_EXTERNAL_URL
    web.telemetry_path path "/metrics" CRDB_EXPORTER_WEB_TELEMETRY_PATH
    web.config_file path - CRDB_EXPORTER_WEB_CONFIG_FILE
    web.enable_lifecycle boolean false CRDB_EXPORTER_WEB_ENABLE_LIFECYCLE
    web.max_requests integer 40 CRDB_EXPORTER_WEB_MAX_REQUESTS
    web.max_probes integer 10 CRDB_EXPORTER_WEB_MAX_PROBES
    web.protect_probes boolean false CRDB_EXPORTER_WEB_PROTECT_PROBES
    web.systemd_socket boolean false CRDB_EXPORTER_WEB_SYSTEMD_SOCKET
    log.level debug|info|warn|error "info" CRDB_EXPORTER_LOG_LEVEL
    log.format logfmt|json "logfmt" CRDB_EXPORTER_LOG_FORMAT
    shard.index integer 0 CRDB_EXPORTER_SHARD_INDEX
    shard.count integer 1 CRDB_EXPORTER_SHARD_COUNT
    shard.name name - CRDB_EXPORTER_SHARD_NAME
    config.auto_reload boolean false CRDB_EXPORTER_CONFIG_AUTO_RELOAD
    links.runbook_url url "" -
    links.dashboard_url url "" -
    clusters[].name name - CRDB_EXPORTER_CLUSTER_NAME
    clusters[].console_url url - -
    clusters[].poll boolean true -
    clusters[].cluster_api.urls url[] - CRDB_EXPORTER_CLUSTER_URL
    clusters[].cluster_api.username user - CRDB_EXPORTER_CLUSTER_USERNAME
    clusters[].cluster_api.password secret - CRDB_EXPORTER_CLUSTER_PASSWORD
    clusters[].cluster_api.password_file path - CRDB_EXPORTER_CLUSTER_PASSWORD_FILE
    clusters[].cluster_api.password_env variable - -
    clusters[].cluster_api.token secret - CRDB_EXPORTER_CLUSTER_TOKEN
    clusters[].cluster_api.token_file path - CRDB_EXPORTER_CLUSTER_TOKEN_FILE
    clusters[].cluster_api.token_env variable - -
    clusters[].cluster_api.virtual_cluster name "system" CRDB_EXPORTER_CLUSTER_VIRTUAL_CLUSTER
    clusters[].cluster_api.tls.ca_file path - CRDB_EXPORTER_CLUSTER_CA_FILE
    clusters[].cluster_api.tls.cert_file path - CRDB_EXPORTER_CLUSTER_CERT_FILE
    clusters[].cluster_api.tls.key_file path - CRDB_EXPORTER_CLUSTER_KEY_FILE
    clusters[].cluster_api.tls.server_name host - -
    clusters[].cluster_api.tls.insecure_skip_verify boolean false -
    clusters[].cluster_api.timeout duration "30s" -
    clusters[].cluster_api.max_concurrent_requests integer 4 -
    clusters[].cluster_api.max_response_bytes bytes "2GiB" -
    clusters[].cluster_api.min_rate bytes "16KiB" -
    clusters[].cluster_api.compression boolean false -
    clusters[].cloud_api.url url "https://cockroachlabs.cloud" CRDB_EXPORTER_CLOUD_URL
    clusters[].cloud_api.cluster_id id - CRDB_EXPORTER_CLOUD_CLUSTER_ID
    clusters[].cloud_api.token secret - CRDB_EXPORTER_CLOUD_TOKEN
    clusters[].cloud_api.token_file path - CRDB_EXPORTER_CLOUD_TOKEN_FILE
    clusters[].cloud_api.token_env variable - -
    clusters[].cloud_api.api_version date "2024-09-16" -
    collectors.nodes.enabled boolean true CRDB_EXPORTER_COLLECTOR_NODES
    collectors.nodes.interval duration "30s" -
    collectors.nodes.timeout duration "30s" -
    collectors.nodes.max_age duration - -
    collectors.nodes.max_duty number 0.25 -
    collectors.nodes.max_series integer 250000 -
    collectors.nodes.page_limit integer 200 -
    collectors.nodes.metrics text[] [] -
    collectors.sessions.enabled boolean true CRDB_EXPORTER_COLLECTOR_SESSIONS
    collectors.sessions.interval duration "30s" -
    collectors.sessions.timeout duration "30s" -
    collectors.sessions.max_age duration - -
    collectors.sessions.max_duty number 0.25 -
    collectors.sessions.max_series integer 250000 -
    collectors.sessions.page_limit integer 20000 -
    collectors.sessions.max_applications integer 50 -
    collectors.sessions.max_users integer 20 -
    collectors.sessions.include_internal boolean false -
    collectors.sessions.application_rewrite undefined[] [] -
    collectors.tables.enabled boolean true CRDB_EXPORTER_COLLECTOR_TABLES
    collectors.tables.interval duration "10m" -
    collectors.tables.timeout duration "2m" -
    collectors.tables.max_age duration - -
    collectors.tables.max_duty number 0.25 -
    collectors.tables.max_series integer 250000 -
    collectors.tables.tables text[] [] -
    collectors.tables.discover auto|true|false "auto" -
    collectors.tables.max_tables integer 50 -"
  `);
});

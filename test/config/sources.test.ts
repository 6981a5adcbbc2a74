import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { COLLECTORS } from '../../src/collectors/all-collectors.ts';
import { UsageError } from '../../src/config/issues.ts';
import { shardNameOf } from '../../src/config/load.ts';
import { loadConfig } from '../../src/config/load.ts';
import { CLUSTER } from './bad-file.ts';
import { makeFolder } from './folder.ts';
import { loadFlags, loadText, problemsOf, warningsOf } from './loading.ts';
import { FILES as PEM, HASH } from './web-files.ts';

const URL_FLAG = { 'cluster.url': ['https://crdb:8080'] };

test('a flag wins over its variable, that over the file, and that over the default', async () => {
  const file = `${CLUSTER}web: { telemetry_path: /file }\nlog: { level: debug }\nshard: { count: 5 }\n`;
  const { config } = await loadText(file, {
    flags: { 'web.telemetry-path': '/flag', 'shard.index': '3' },
    env: { CRDB_EXPORTER_WEB_TELEMETRY_PATH: '/variable', CRDB_EXPORTER_SHARD_COUNT: '4' },
  });
  expect(config.web.telemetry_path).toBe('/flag');
  expect(config.shard).toMatchObject({ index: 3, count: 4 });
  expect(config.log).toEqual({ level: 'debug', format: 'logfmt' });
});

test('one cluster may be given by flags alone and is named default', async () => {
  const folder = await makeFolder({
    password: 'hunter2\n',
    token: 'hunter3',
    'ca.crt': PEM['ca.crt'],
  });
  const { config } = await loadFlags({
    ...URL_FLAG,
    'cluster.username': 'exporter',
    'cluster.password-file': path.join(folder, 'password'),
    'cluster.ca-file': path.join(folder, 'ca.crt'),
    'cloud.cluster-id': 'abc',
    'cloud.token-file': path.join(folder, 'token'),
    'cloud.url': 'https://cloud.example/',
  });
  const [cluster, ...others] = config.clusters;
  expect(others).toEqual([]);
  expect(cluster).toMatchObject({
    name: 'default',
    cluster_api: {
      urls: ['https://crdb:8080/api/v2'],
      username: 'exporter',
      tls: { ca_file: path.join(folder, 'ca.crt'), insecure_skip_verify: false },
    },
    cloud_api: { url: 'https://cloud.example', cluster_id: 'abc', api_version: '2024-09-16' },
  });
  expect(await cluster?.cluster_api?.password?.reveal()).toBe('hunter2');
  expect(await cluster?.cloud_api?.token.reveal()).toBe('hunter3');
});

test('variables set the same keys as flags, with commas for repeatable ones, and only variables set secrets', async () => {
  const { config } = await loadFlags(
    {},
    {
      CRDB_EXPORTER_CLUSTER_NAME: 'prod',
      CRDB_EXPORTER_CLUSTER_URL: 'https://a:1, https://b:1,',
      CRDB_EXPORTER_CLUSTER_USERNAME: 'u',
      CRDB_EXPORTER_CLUSTER_PASSWORD: 'hunter2',
      CRDB_EXPORTER_CLOUD_CLUSTER_ID: 'abc',
      CRDB_EXPORTER_CLOUD_TOKEN: 'hunter3',
      CRDB_EXPORTER_WEB_LISTEN_ADDRESS: '127.0.0.1:1,[::1]:2,unix:/run/x',
      CRDB_EXPORTER_COLLECTOR_USERS: 'true',
    },
  );
  const [cluster] = config.clusters;
  expect(cluster?.name).toBe('prod');
  expect(cluster?.cluster_api?.urls).toEqual(['https://a:1/api/v2', 'https://b:1/api/v2']);
  expect(await cluster?.cluster_api?.password?.reveal()).toBe('hunter2');
  expect(await cluster?.cloud_api?.token.reveal()).toBe('hunter3');
  expect(cluster?.collectors['users']?.enabled).toBe(true);
  expect(config.web.listen_address).toEqual([
    { host: '127.0.0.1', port: 1 },
    { host: '::1', port: 2 },
    { path: '/run/x' },
  ]);
});

test('a variable that resembles a known one is warned of, but not those of Kubernetes', async () => {
  const env = {
    CRDB_EXPORTER_CLUSTER_URLS: 'https://crdb:8080',
    CRDB_EXPORTER_CLUSTER_PORT: '8080',
    CRDB_EXPORTER_COLLECTOR_USER: 'true',
    CRDB_EXPORTER_PORT: 'tcp://10.0.0.1:10137',
    CRDB_EXPORTER_PORT_10137_TCP_ADDR: '10.0.0.1',
    CRDB_EXPORTER_SERVICE_HOST: '10.0.0.1',
    CRDB_EXPORTER_SERVICE_PORT_HTTP: '10137',
    CRDB_EXPORTER_TEAM: 'storage',
    CRDB_EXPORTER_LOG_LEVEL: '',
  };
  expect((await warningsOf(loadFlags(URL_FLAG, env))).toSorted()).toEqual([
    'CRDB_EXPORTER_CLUSTER_PORT: unknown variable, not used: did you mean CRDB_EXPORTER_CLUSTER_URL?',
    'CRDB_EXPORTER_CLUSTER_URLS: unknown variable, not used: did you mean CRDB_EXPORTER_CLUSTER_URL?',
    'CRDB_EXPORTER_COLLECTOR_USER: unknown variable, not used: did you mean CRDB_EXPORTER_COLLECTOR_USERS?',
  ]);
  const file = `${CLUSTER}      token_env: CRDB_EXPORTER_CLUSTER_TOKENS\n`;
  const named = { CRDB_EXPORTER_CLUSTER_TOKENS: 'hunter2' };
  expect(await warningsOf(loadText(file, { env: named }))).toEqual([]);
});

test("a collector's switch wins over the file, also over a block that a cluster shares with all", async () => {
  const file = `${CLUSTER}    collectors: &shared { ranges: { enabled: true }, users: { enabled: false } }\ncollectors: *shared\n`;
  const { config } = await loadText(file, {
    flags: { 'collector.ranges': false },
    env: { CRDB_EXPORTER_COLLECTOR_USERS: 'true' },
  });
  expect(config.clusters[0]?.collectors['ranges']?.enabled).toBe(false);
  expect(config.clusters[0]?.collectors['users']?.enabled).toBe(true);
});

test('the file may be named by flag or variable', async () => {
  const folder = await makeFolder({ 'a.yml': `${CLUSTER}log: { level: warn }\n` });
  const file = path.join(folder, 'a.yml');
  const byFlag = await loadFlags({ 'config.file': file });
  const byVariable = await loadFlags({}, { CRDB_EXPORTER_CONFIG_FILE: file });
  expect([byFlag.config.log.level, byVariable.config.log.level]).toEqual(['warn', 'warn']);
});

test('flags and variables of a cluster beside a file are wrong usage', async () => {
  const loading = loadText(CLUSTER, {
    flags: URL_FLAG,
    env: { CRDB_EXPORTER_CLOUD_URL: 'https://cloud.example' },
  });
  await expect(loading).rejects.toThrow(UsageError);
  await expect(loading).rejects.toThrow(
    /^--cluster\.url, CRDB_EXPORTER_CLOUD_URL beside the configuration file \S+exporter\.yml: describe the cluster in the file or by flags, not both$/,
  );
});

test("a secret's variable beside a file is used when the file names it", async () => {
  const env = { CRDB_EXPORTER_CLUSTER_TOKEN: 'hunter2' };
  const named = loadText(`${CLUSTER}      token_env: CRDB_EXPORTER_CLUSTER_TOKEN\n`, { env });
  expect(await warningsOf(named)).toEqual([]);
  expect(await (await named).config.clusters[0]?.cluster_api?.token?.reveal()).toBe('hunter2');
  const { config } = await loadText(CLUSTER, { env });
  expect(config.clusters[0]?.cluster_api?.token).toBeUndefined();
});

test('wrong flags and variables are named', async () => {
  const wrong = await Promise.all([
    problemsOf(loadFlags({ 'shard.index': 'x', ...URL_FLAG })),
    problemsOf(loadFlags({ 'shard.index': '-1', ...URL_FLAG })),
    problemsOf(loadFlags({ 'web.telemetry-path': 'metrics', ...URL_FLAG })),
    problemsOf(loadFlags(URL_FLAG, { CRDB_EXPORTER_COLLECTOR_NODES: 'yes' })),
    problemsOf(loadFlags({ 'cluster.username': 'u' })),
    problemsOf(loadFlags({ 'cluster.name': 'prod' })),
    problemsOf(loadFlags({})),
    problemsOf(loadFlags({ 'config.file': '/nonexistent/exporter.yml' })),
  ]);
  expect(`\n${wrong.flat().join('\n')}\n`).toMatchInlineSnapshot(`
    "
    --shard.index: shard.index: "x" is not a whole number
    --shard.index: shard.index: -1 is too small: at least 0
    --web.telemetry-path: web.telemetry_path: "metrics" is not a free path: write it as /metrics; /probe, /sd/, /api/status, /config, /runbooks/ and /-/ are taken
    CRDB_EXPORTER_COLLECTOR_NODES: collectors.nodes.enabled: "yes" is neither true nor false
    --cluster.username: clusters[0].cluster_api: the key "urls" is missing: set it (or --cluster.url)
    --cluster.username: clusters[0].cluster_api.username: a username without password: add password_file, password_env or password
    command line: clusters[0]: a cluster needs cluster_api or cloud_api or both
    command line: clusters: no cluster is configured: list one under clusters in the file of --config.file, or give --cluster.url; \`crdb-exporter demo\` needs neither
    /nonexistent/exporter.yml: cannot read the configuration file: there is no such file
    "
  `);
});

test('paths of a file are relative to the file', async () => {
  const { config } = await loadText(
    `${CLUSTER}      tls: { ca_file: tls/ca.crt }\nweb: { listen_address: ["unix:x.sock"] }\n`,
    { files: { 'tls/ca.crt': PEM['ca.crt'] } },
  );
  const file = config.clusters[0]?.cluster_api?.tls.ca_file ?? '';
  expect(await readFile(file, 'utf8')).toBe(PEM['ca.crt']);
  expect(config.web.listen_address).toEqual([{ path: path.join(file, '../../x.sock') }]);
});

test('paths of flags and variables are relative to the working folder, also beside a file', async () => {
  const sockets = { 'web.listen-address': ['unix:x.sock', ':1'] };
  const { config } = await loadText(CLUSTER, { flags: sockets });
  expect(config.web.listen_address).toEqual([{ path: path.resolve('x.sock') }, { port: 1 }]);
  const env = { CRDB_EXPORTER_WEB_CONFIG_FILE: 'nowhere.yml' };
  expect(await problemsOf(loadText(CLUSTER, { env }))).toEqual([
    `${path.resolve('nowhere.yml')}: cannot read the web config file: there is no such file`,
  ]);
});

test('what is loaded cannot be changed, not even deep inside', async () => {
  const { config } = await loadFlags(URL_FLAG);
  const deep = config.clusters[0]?.collectors['nodes']?.['metrics'];
  expect(
    [config, config.web, config.clusters[0]?.cluster_api?.tls, deep].every(Object.isFrozen),
  ).toBe(true);
});

test('what is not set has its default', async () => {
  const { config, warnings } = await loadConfig({
    flags: URL_FLAG,
    env: {},
    collectors: COLLECTORS,
  });
  expect(warnings).toEqual([]);
  expect(config).toMatchObject({
    web: { listen_address: [{ port: 10_137 }], telemetry_path: '/metrics' },
    clusters: [
      {
        cluster_api: {
          virtual_cluster: 'system',
          timeout: 30,
          max_concurrent_requests: 4,
          max_response_bytes: 2 * 1024 ** 3,
          compression: false,
        },
        poll: true,
      },
    ],
  });
});

test('the name of the shard is that of the host unless it is set', async () => {
  expect(shardNameOf('crdb-3.example.com')).toBe('crdb-3.example.com');
  expect(shardNameOf('123456789012')).toBe('host-123456789012');
  expect(shardNameOf(`böse ${'x'.repeat(80)}`)).toBe(`b-se-${'x'.repeat(58)}`);
  const unset = await loadFlags({ ...URL_FLAG, 'shard.name': '' });
  expect(unset.config.shard.name).toBe(shardNameOf(hostname()));
  const { config } = await loadFlags(URL_FLAG, { CRDB_EXPORTER_SHARD_NAME: 'east-2' });
  expect(config.shard.name).toBe('east-2');
});

test.each([
  ['all', 2],
  ['clusters', 1],
  ['none', 0],
] as const)('files are checked as the caller wants: %s', async (checkedFiles, count) => {
  const flags = {
    ...URL_FLAG,
    'cluster.token-file': '/nowhere/token',
    'web.config.file': '/nowhere/web.yml',
  };
  const loading = loadConfig({ flags, env: {}, collectors: COLLECTORS, checkedFiles });
  const problems = count === 0 ? await loading.then(() => []) : await problemsOf(loading);
  expect(problems).toHaveLength(count);
});

test('an empty name means no web config file', async () => {
  const flags = { 'cluster.url': ['http://localhost:8080'], 'web.config.file': '' };
  expect((await loadFlags(flags)).config.web.config_file).toBeUndefined();
  const { config } = await loadText(`${CLUSTER}web: { config_file: "" }\n`);
  expect(config.web.config_file).toBeUndefined();
});

test.each([
  ['', 1],
  ['http_server_config: { headers: { X-Frame-Options: deny } }\n', 1],
  [`basic_auth_users: { ops: "${HASH}" }\n`, 0],
])('a web config file without users and TLS is warned of: %j', async (text, count) => {
  const yaml = `${CLUSTER}web: { config_file: web.yml }\n`;
  const warnings = await warningsOf(loadText(yaml, { files: { 'web.yml': text } }));
  const message =
    'web.config_file: web.yml sets neither basic_auth_users nor tls_server_config, so every client is answered, in plain text: set one of them, or remove the setting';
  expect(warnings).toEqual(Array(count).fill(expect.stringContaining(message)));
});

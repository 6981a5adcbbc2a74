import { describe, expect, test } from 'vitest';
import { APIS, type Endpoint, FAILURE_REASONS, LIMITS } from '../../../src/base/vocabulary.ts';
import { diagnose } from '../../../src/cockroach/diagnosis/diagnosis.ts';
import type { Operation } from '../../../src/cockroach/diagnosis/failure.ts';
import { RULES } from '../../../src/cockroach/diagnosis/remedies.ts';
import {
  RequestError,
  type RequestTarget,
  statusError,
  toRequestError,
} from '../../../src/cockroach/http/errors.ts';
import { cloud } from '../../../src/collectors/cloud/collector.ts';
import { nodes } from '../../../src/collectors/nodes/collector.ts';
import { users } from '../../../src/collectors/users.ts';
import type { ClusterConfig } from '../../../src/config/keys-and-flags.ts';
import type { LoadedConfig } from '../../../src/config/load.ts';
import { loadFlags, loadText } from '../../config/loading.ts';
import { FILES as PEM } from '../../config/web-files.ts';
import { createAuthority } from '../../support/certificates.ts';
import { expectGolden } from '../../support/golden.ts';
import { ask, connect } from '../../support/http-client.ts';
import { serveTls } from '../../support/https-server.ts';

const RENAME: Operation = {
  name: 'rename-database',
  api: 'cloud',
  privilege: 'the role CLUSTER_ADMIN',
  verification: 'with SHOW DATABASES',
  remedies: { 404: 'check the old name', 409: 'choose another new name' },
};

const STATUSES = [
  299, 300, 307, 399, 400, 401, 403, 404, 408, 409, 429, 498, 499, 500, 501, 502, 503, 504, 505,
];

const CODES = [
  'ENOTFOUND',
  'EAI_AGAIN',
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENETDOWN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_SIGNATURE_FAILURE',
  'INVALID_CA',
  'INVALID_PURPOSE',
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'HOSTNAME_MISMATCH',
  'EPROTO',
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_SSL_PACKET_LENGTH_TOO_LONG',
  'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL',
  'ERR_SSL_OTHER',
  'UND_ERR_CONNECT_TIMEOUT',
  'ETIMEDOUT',
  'ECONNRESET',
  'EPIPE',
  'UND_ERR_SOCKET',
  'EMFILE',
  'PROXY_LOGIN',
  'PROXY_REFUSED',
  'PROXY_SILENT',
  'PROXY_UNREACHABLE',
];

/** What was requested, and where. */
const TARGETS: readonly RequestTarget[] = [
  ...(
    ['nodes', 'login', 'table', 'table_metadata', 'sessions', 'node_ranges', 'other'] as const
  ).map((endpoint) => ({ endpoint, url: 'https://x:8080/api/v2' })),
  { endpoint: 'nodes', url: 'https://x:26257/api/v2' },
  { endpoint: 'nodes', url: 'https://x:26257' },
  { endpoint: 'nodes', url: 'https://x:8080/26257' },
  { endpoint: 'nodes' },
  {},
];

const SERVER_TEXTS = [
  'Internal call failed',
  "Cluster 'x'",
  'invalid CC-version',
  'database or table not found',
];

const PASSWORD = 'username: exporter, password: x';

function onlyCluster({ config }: LoadedConfig): ClusterConfig {
  const [cluster] = config.clusters;
  if (cluster === undefined) throw new Error('no cluster');
  return cluster;
}

async function configOf(clusterApi: string, url = 'https://crdb-1:8080'): Promise<ClusterConfig> {
  const text = `clusters: [{ name: sim, cluster_api: { urls: [${url}], ${clusterApi} } }]`;
  return onlyCluster(await loadText(text, { files: PEM }));
}

const FLAGS = { 'cluster.url': ['https://crdb-1:8080'], 'cluster.username': 'exporter' };
const CONFIG = onlyCluster(await loadFlags(FLAGS, { CRDB_EXPORTER_CLUSTER_PASSWORD: 'x' }));

type Line = readonly [failure: string | number, remedy: string | undefined];

function remedyOf(
  error: RequestError,
  operation: Operation = nodes,
  config = CONFIG,
): string | undefined {
  const mayHaveChanged = operation === RENAME;
  return diagnose(error, operation, config, { mayHaveChanged }).remedy;
}

/** A remedy per line, after the failures that have it. */
function section(title: string, lines: readonly Line[]): string {
  const byRemedy = Map.groupBy(lines, ([, remedy]) => remedy);
  const text = Array.from(
    byRemedy,
    ([remedy, group]) => `${group.map(([failure]) => failure).join('; ')}: ${remedy}\n`,
  );
  return `# ${title}\n\n${text.join('')}`;
}

function statuses(endpoint: Endpoint, operation: Operation): readonly Line[] {
  return STATUSES.map((status) => [
    status,
    remedyOf(statusError(status, 'failed', { endpoint }), operation),
  ]);
}

function codes(operation: Operation, config = CONFIG): readonly Line[] {
  return CODES.map((code) => {
    const error = toRequestError(Object.assign(new Error('failed'), { code }), 'failed');
    return [code, remedyOf(error, operation, config)];
  });
}

function reasons(target: RequestTarget, operation: Operation): readonly Line[] {
  return FAILURE_REASONS.map((reason) => [
    `${reason} (${Object.values(target).join(' at ')})`,
    remedyOf(new RequestError(reason, 'failed', target), operation),
  ]);
}

function limits(): readonly Line[] {
  return LIMITS.map((limit) => [limit, remedyOf(new RequestError('limit', 'failed', { limit }))]);
}

/** Deadlines of a request, by what is late. */
function lateness(): readonly Line[] {
  return (['headers', 'chunk', 'body'] as const).flatMap((late) =>
    (['nodes', 'sessions', 'node_ranges'] as const).map((endpoint): Line => [
      `${late} of ${endpoint}`,
      remedyOf(new RequestError('timeout', 'failed', { endpoint, late })),
    ]),
  );
}

/** Timeouts of polls, not of their requests. */
function pollTimeouts(): readonly Line[] {
  return (['nodes', 'sessions'] as const).map((endpoint) => {
    const cause = new DOMException('late', 'TimeoutError');
    return [endpoint, remedyOf(toRequestError(cause, 'failed', { endpoint }))];
  });
}

async function logins(): Promise<readonly Line[]> {
  const names = ['root', 'Team_1', '_x', 'team-a', '1st', `'say "hi"'`];
  const apis = [
    ...names.map((name) => `username: ${name}, password: x`),
    'token: x',
    'timeout: 5s',
  ];
  const lines = apis.map(async (api): Promise<readonly Line[]> => {
    const config = await configOf(api);
    return (['login', 'nodes'] as const).flatMap((endpoint) =>
      [401, 403].map((status): Line => [
        `${status} ${endpoint} with ${api}`,
        remedyOf(statusError(status, 'failed', { endpoint }), nodes, config),
      ]),
    );
  });
  return (await Promise.all(lines)).flat();
}

/** The Cloud API sends its texts in JSON. */
function cloudError(status: number, message: string): RequestError {
  return statusError(status, 'x', { serverText: JSON.stringify({ code: 5, message }) });
}

function serverTexts(status: number): readonly Line[] {
  return SERVER_TEXTS.flatMap((serverText): readonly Line[] => [
    [`cloud ${serverText}`, remedyOf(cloudError(status, serverText), cloud)],
    [`change ${serverText}`, remedyOf(cloudError(status, serverText), RENAME)],
    [`table ${serverText}`, remedyOf(statusError(status, 'x', { serverText, endpoint: 'table' }))],
    [`nodes ${serverText}`, remedyOf(statusError(status, 'x', { serverText, endpoint: 'nodes' }))],
  ]);
}

/** Pages of HTML, which proxies send, and nodes do not. */
function pages(): readonly Line[] {
  const serverText = '\n<!DOCTYPE html><title>session or token blocked</title>';
  return [400, 401, 403, 404, 405, 500, 503].flatMap((status) =>
    (['login', 'nodes', 'table'] as const).map((endpoint): Line => {
      const error = statusError(status, endpoint, { endpoint, serverText, sentToken: true });
      return [`${error.message} (${error.reason})`, remedyOf(error)];
    }),
  );
}

function waits(): readonly Line[] {
  return [429, 503].flatMap((status) =>
    [undefined, 0.5, 1, 1.2, 60, 86_400].map((retryAfterSeconds): Line => [
      `${status} ${retryAfterSeconds}`,
      remedyOf(statusError(status, 'x', { retryAfterSeconds })),
    ]),
  );
}

function parserError(text: string): RequestError {
  return toRequestError(Object.assign(new Error(text), { name: 'HTTPParserError' }), 'x');
}

test('every failure has its remedy', async () => {
  const client = `${PASSWORD}, tls: { cert_file: good.crt, key_file: good.key }`;
  const sections = [
    section('Statuses of the cluster API', statuses('nodes', nodes)),
    section('Statuses of a table', statuses('table', users)),
    section('Statuses of the list of tables', statuses('table_metadata', nodes)),
    section('Statuses of the Cloud API', statuses('assistant', cloud)),
    section('Statuses of a change', statuses('other', RENAME)),
    section('Statuses by login', await logins()),
    section('Status 400 by the text of the server', serverTexts(400)),
    section('Status 404 by the text of the server', serverTexts(404)),
    section('Statuses with a page of HTML', pages()),
    section('Statuses by the seconds to wait', waits()),
    section('Codes', [
      ...codes(nodes),
      ['no HTTP', remedyOf(parserError('Expected HTTP/'))],
      ['broken HTTP', remedyOf(parserError('x'))],
    ]),
    section(
      'Codes with a CA',
      codes(nodes, await configOf(`${PASSWORD}, tls: { ca_file: ca.crt }`)),
    ),
    section('Codes with a client certificate', codes(nodes, await configOf(client))),
    section('Codes with http', codes(nodes, await configOf(PASSWORD, 'http://crdb-1:8080'))),
    section('Codes of the Cloud API', codes(cloud)),
    section('Codes of a change', codes(RENAME)),
    section(
      'Reasons',
      TARGETS.flatMap((target) => reasons(target, nodes)),
    ),
    section('Limits', limits()),
    section('Late responses', lateness()),
    section('Polls that took too long', pollTimeouts()),
    section('Reasons of the Cloud API', reasons({ endpoint: 'assistant' }, cloud)),
    section('Reasons of a change', reasons({ endpoint: 'other' }, RENAME)),
  ];
  await expectGolden(sections.join('\n'), 'test/golden/remedies.txt');
});

describe('the cause of a failure', () => {
  test.each([
    ['{"code": 7, "message": "no\\nrole"}', 'rename-database at x: HTTP 409: code 7: no\nrole'],
    ['{"message": "no role"}', 'rename-database at x: HTTP 409: no role'],
    ['{"message": 7}', 'rename-database at x: HTTP 409: 7'],
    ['{"code": 7}', 'rename-database at x: HTTP 409'],
    ['null', 'rename-database at x: HTTP 409'],
    ['"message"', 'rename-database at x: HTTP 409'],
    ['<html>', 'rename-database at x: HTTP 409'],
    ['', 'rename-database at x: HTTP 409'],
  ])('of the Cloud API has the text of the service: %j', (serverText, cause) => {
    const error = statusError(409, ' rename-database at\n  x', { serverText });
    expect(diagnose(error, RENAME, CONFIG)).toEqual({
      reason: 'http',
      cause,
      rule: 'rename-database 409',
      remedy: 'choose another new name',
    });
  });

  test('of the cluster API follows from the request alone', () => {
    const error = statusError(409, ' nodes at\n  x', { serverText: '{"message": "secret"}' });
    expect(diagnose(error, nodes, CONFIG).cause).toBe('nodes at x: HTTP 409');
  });
});

test.each(APIS)('each rule of the API %s has an id, which stands for one remedy', (api) => {
  const remedies = new Map<unknown, unknown>();
  for (const [id, , remedy] of RULES[api]) {
    // The privilege of a collector is one remedy, however the request failed.
    if (typeof id !== 'string') continue;
    expect([id, remedies.get(id) ?? remedy]).toEqual([id, remedy]);
    remedies.set(id, remedy);
  }
});

test('a redirect to https of an https URL is one of a proxy that speaks http to the nodes', () => {
  const remedies = ['http://crdb:8080/api/v2', 'https://crdb:443/api/v2'].map((url) =>
    remedyOf(statusError(307, 'failed', { endpoint: 'nodes', url, leadsToHttps: true })),
  );
  expect(remedies).toEqual([
    expect.stringContaining('write https:// in the URL'),
    expect.stringContaining('set the protocol of its backend to HTTPS'),
  ]);
});

test.each([
  ['cockroachdb-0.cockroachdb', 'dns:*.cockroachdb', true],
  ['cockroachdb-0.cockroachdb', 'dns:other', false],
  ['cockroachdb-0.cockroachdb.default', 'dns:*.cockroachdb', false],
])(
  '%s with a certificate for %s: a wildcard with a single dot is explained, %s',
  async (servername, name, isExplained) => {
    const authority = await createAuthority();
    await using node = await serveTls(await authority.issue({ name: 'node', sans: [name] }));
    await using client = connect([node.url], {
      tls: { rejectUnauthorized: true, ca: authority.cert, servername },
    });
    const error: unknown = await ask(client).catch((reason: unknown) => reason);
    if (!(error instanceof RequestError)) throw new Error('no failure');
    expect(remedyOf(error)).toContain(
      isExplained ? 'a wildcard with a single dot' : 'use one of them',
    );
  },
);

test.each([
  ['for clients only', { name: 'root', usage: 'client' }, 'a certificate for clients'],
  [
    'for clients only, with names',
    { name: 'root', usage: 'client', sans: ['ip:127.0.0.1'] },
    'a certificate for clients',
  ],
  ['without names', { name: 'root' }, 'names no host'],
  ['for another host', { name: 'root', sans: ['dns:other'] }, 'use one of them'],
] as const)(
  'a certificate %s on the HTTP port is named, with what to set',
  async (_what, subject, words) => {
    const authority = await createAuthority();
    await using node = await serveTls(await authority.issue(subject));
    await using client = connect([node.url], {
      tls: { rejectUnauthorized: true, ca: authority.cert, servername: 'x.example' },
    });
    const error: unknown = await ask(client).catch((reason: unknown) => reason);
    if (!(error instanceof RequestError)) throw new Error('no failure');
    const remedy = remedyOf(error) ?? '';
    expect(remedy).toContain(words);
    expect(remedy.includes('httpSecretName')).toBe(words !== 'use one of them');
  },
);

test('a password that has expired needs no other one', () => {
  const serverText = 'the password has expired\n';
  const error = statusError(401, 'failed', { endpoint: 'login', serverText });
  expect(remedyOf(error)).toBe(
    "the password has expired: ALTER USER exporter VALID UNTIL … with a later time, or 'infinity', extends it",
  );
});

test('a certificate without names is accepted by its common name, as the remedy says', async () => {
  const authority = await createAuthority();
  await using node = await serveTls(await authority.issue({ name: 'root' }));
  await using client = connect([node.url], {
    tls: { rejectUnauthorized: true, ca: authority.cert, servername: 'root' },
  });
  expect(await ask(client)).toBe('{"fine":true}');
});

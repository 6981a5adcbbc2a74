import { describe, expect, test } from 'vitest';
import { ASSISTANT_PASSWORD, SQL_MARKER, startSimulator } from '../../../simulator/index.ts';
import { cloud } from '../../../src/collectors/cloud/collector.ts';
import { ranges } from '../../../src/collectors/ranges/collector.ts';
import { tables } from '../../../src/collectors/tables/collector.ts';
import { createAuthority } from '../../support/certificates.ts';
import { refusing, serve } from '../../support/http-server.ts';
import { configFlag, runHere, writeTemporary } from '../run.ts';
import { diagnoseBy, type Diagnosis, type Options, simulate } from './diagnosed.ts';

type Adapted = NonNullable<Parameters<typeof configFlag>[1]>;

const TABLE_LIST = 'GET /table_metadata/';

async function diagnose(options: Options = {}, adapted: Adapted = {}): Promise<Diagnosis> {
  await using simulator = await simulate(options);
  return await diagnoseBy(await configFlag(simulator, adapted));
}

async function diagnoseTls(
  cert: { name: string; days?: number; startDays?: number },
  trusted: boolean,
) {
  const authority = await createAuthority();
  const sans = [cert.name === '127.0.0.1' ? 'ip:127.0.0.1' : `dns:${cert.name}`];
  const tls = await authority.issue({ ...cert, sans });
  await using simulator = await simulate({ tls });
  const ca = await writeTemporary('ca.crt', authority.cert);
  const login = `username: ${simulator.username}, password: ${simulator.password}`;
  const clusterApi = trusted ? `${login}, tls: { ca_file: ${ca} }` : login;
  return await diagnoseBy(await configFlag(simulator, { clusterApi }));
}

describe('a healthy cluster', () => {
  test('is good at every step', async () => {
    const { code, findings, of } = await diagnose();
    expect(code).toBe(0);
    const bad = findings.filter(({ verdict }) => verdict !== 'ok' && verdict !== 'skipped');
    expect(bad).toEqual([]);
    const checks = findings.map(({ check }) => check);
    expect(checks).toEqual(
      expect.arrayContaining(['GET /health/', 'login', 'GET /nodes/', 'clock']),
    );
    expect(of('GET /nodes/')?.detail).toMatch(/^\S+ \w+ in .*; 3 nodes of v\d/);
    expect(of('GET /sessions/')?.detail).toMatch(/; 20 sessions$/);
    expect(of(cloud.request)?.detail).toContain('there is none');
  });

  test('has lines about one request each, without the list of nodes that others read first', async () => {
    await using simulator = await simulate({ nodes: 1 });
    const { of } = await diagnoseBy(await configFlag(simulator));
    const sizeOf = (check: string): string =>
      / KiB| MiB| B/.exec(of(check)?.detail ?? '')?.[0] ?? '';
    expect(of('GET /nodes/')?.detail).toMatch(/ [KM]iB in .*; 1 node of v/);
    expect(sizeOf('GET /_status/connectivity')).toBe(' B');
    expect(of(TABLE_LIST)?.detail).toMatch(/; names and sizes of \d+ tables$/);
    expect(of(tables.request)).toBeUndefined();
  });

  test('has an estimate of the range scan from its smallest node', async () => {
    await using simulator = await simulate({ nodes: 5 });
    const flag = await configFlag(simulator);
    const { of } = await diagnoseBy(flag);
    expect(of('range scan')?.detail).toMatch(/^about 98 replicas, .* in .*, every 1m$/);
    const [read, single, ...others] = simulator.requests.entries
      .filter(({ endpoint }) => endpoint === 'node_ranges')
      .map(({ node }) => node);
    expect(single).toBe(read);
    expect(others).toEqual([]);
    expect(of('single ranges')).toMatchObject({ verdict: 'ok' });
    expect(of(ranges.request)?.detail).toMatch(new RegExp(`replicas on node ${read}$`));
    expect(of('own counts')?.detail).toMatch(/; (\d+) replicas read, the nodes count \1;/);
  });

  test('is read as a whole with --scan, which says first what that costs', async () => {
    await using simulator = await simulate();
    const { out, err } = await runHere(['diagnose', '--scan', await configFlag(simulator)]);
    expect(err).toMatch(/^crdb-exporter: reads all ranges of 3 nodes: about 90 replicas, /m);
    expect(out).toMatch(/own counts +.*; 90 replicas read, the nodes count 90;/);
    expect(out).toMatch(/range scan +90 replicas, .* in .*, every 1m$/m);
  });

  test('is shown as a checklist, without any secret or SQL', async () => {
    await using simulator = await simulate();
    simulator.world.setAssistant({ status: 'RUNNING', health: 'HEALTHY' });
    const { code, out, err } = await runHere(['diagnose', await configFlag(simulator)]);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(/^Cluster sim$/m);
    expect(out).toMatch(/^ {4}✓ GET \/nodes\/ +\d\S* \w+ in /m);
    expect(out).toMatch(/^\d+ ok, 0 warnings, 0 failed$/m);
    const { password, cloudToken } = simulator;
    for (const secret of [password, cloudToken, ASSISTANT_PASSWORD, SQL_MARKER]) {
      expect(out).not.toContain(secret);
    }
  });
});

describe('what is wrong is found with its remedy:', () => {
  test('a wrong password', async () => {
    const { code, of } = await diagnose({}, { clusterApi: 'username: exporter, password: wrong' });
    expect(code).toBe(1);
    expect(of('login')).toMatchObject({ verdict: 'failed' });
    expect(of('login')?.advice).toContain('ALTER USER exporter WITH PASSWORD');
  });

  test('a user without privileges', async () => {
    const login = 'username: plain, password: plain-demo';
    const { code, of } = await diagnose({}, { clusterApi: login });
    expect(code).toBe(1);
    expect(of('login')?.verdict).toBe('ok');
    const grants = {
      'GET /nodes/': 'VIEWCLUSTERMETADATA',
      'GET /sessions/': 'VIEWCLUSTERMETADATA, VIEWACTIVITYREDACTED',
    };
    for (const [check, privileges] of Object.entries(grants)) {
      expect(of(check)).toMatchObject({ verdict: 'failed' });
      expect(of(check)?.advice).toContain(`run GRANT SYSTEM ${privileges} TO plain;`);
    }
    // The collector is disabled by default: a warning only.
    expect(of('GET /users/')).toMatchObject({ verdict: 'warning' });
    expect(of('GET /users/')?.advice).toContain('GRANT SELECT ON system.users TO plain;');
  });

  test('a user who sees no sessions but its own', async () => {
    const login = 'username: watcher, password: watcher-demo';
    const { code, of } = await diagnose({}, { clusterApi: login });
    expect(code).toBe(1);
    expect(of('GET /sessions/')).toMatchObject({ verdict: 'failed' });
    expect(of('GET /sessions/')?.advice).toBe('Run GRANT SYSTEM VIEWACTIVITYREDACTED TO watcher;');
  });

  test.each([401, 403])('a proxy that rejects every request with %d', async (status) => {
    await using proxy = await serve((_, response) => response.writeHead(status).end());
    const { code, of } = await diagnoseBy(`--cluster.url=${proxy.url}`);
    expect(code).toBe(1);
    expect(of('GET /health/')?.advice).toBe(
      'GET /health/ needs no login: a proxy in between, or another server, rejects the request: check the URL',
    );
  });

  test('a proxy of the environment, which may be what fails', async () => {
    const args = ['diagnose', '--output=json', '--cluster.url=http://crdb.example:8080'];
    const { code, out } = await runHere(args, { http_proxy: await refusing() });
    const { findings } = JSON.parse(out).clusters[0];
    expect(code).toBe(1);
    expect(findings).toMatchObject([
      { check: 'proxy', verdict: 'skipped', detail: expect.stringContaining('http_proxy') },
      {
        check: 'GET /health/',
        verdict: 'failed',
        detail: expect.stringContaining('the proxy cannot be reached: connect ECONNREFUSED'),
        advice: expect.stringContaining('orrect the address of the proxy of the environment'),
      },
    ]);
  });

  test.each([
    [
      'nothing that listens',
      async () => `http://${new URL(await refusing()).host}`,
      'ECONNREFUSED',
    ],
    ['an unknown host', () => 'http://nowhere.invalid:8080', 'ENOTFOUND'],
  ])('%s', async (_, url, code) => {
    const { code: exitCode, of } = await diagnoseBy(`--cluster.url=${await url()}`);
    expect(exitCode).toBe(1);
    expect(of('GET /health/')?.detail).toMatch(/^GET \/health\/ at /);
    expect(of('GET /health/')?.detail).toContain(code);
    expect(of('GET /nodes/')).toBeUndefined();
  });

  test.each([[], ['--scan']])('a scan that exceeds its timeout: %j', async (...flags) => {
    await using simulator = await simulate();
    simulator.fault({ endpoint: 'node_ranges', kind: 'slow', ms: 20_000 });
    const more = 'collectors: { ranges: { timeout: 300ms } }\n';
    const { code, of } = await diagnoseBy(await configFlag(simulator, { more }), ...flags);
    expect(code).toBe(1);
    expect(of(ranges.request)).toMatchObject({
      verdict: 'failed',
      detail: 'ranges of node 1: the scan ran out of time',
      advice: expect.stringContaining('collectors.ranges.timeout: check the nodes'),
    });
  });

  test('a URL of another cluster than the first one that lists its nodes', async () => {
    await using broken = await serve(({ url }, response) => {
      response.writeHead(url?.includes('/nodes/') ? 500 : 200).end('{}');
    });
    await using east = await simulate({ insecure: true });
    await using west = await simulate({ insecure: true, clusterName: 'west' });
    const all = [`${broken.url}/a`, east.clusterUrl, west.clusterUrl];
    const { code, findings } = await diagnoseBy(...all.map((url) => `--cluster.url=${url}`));
    expect(code).toBe(1);
    const found = findings.filter(({ check }) => check === 'same cluster');
    expect(found.map(({ verdict }) => verdict)).toEqual(['failed', 'ok', 'failed']);
    expect(found.map(({ target }) => target)).toEqual(all);
  });

  test('one cluster of two', async () => {
    await using simulator = await simulate();
    const more = '  - name: refused\n    cluster_api: { urls: ["http://127.0.0.1:1"] }\n';
    const { code, findings } = await diagnoseBy(await configFlag(simulator, { more }));
    expect(code).toBe(1);
    expect(new Set(findings.map(({ verdict }) => verdict))).toContain('ok');
  });

  test('a clock that is off', async () => {
    await using server = await serve((_request, response) => {
      response.setHeader('date', 'Sat, 01 Jan 2000 00:00:00 GMT');
      response.end('{"nodes": [{"node_id": 1}], "sessions": [], "users": []}');
    });
    const { of } = await diagnoseBy(`--cluster.url=${server.url}`);
    expect(of('clock')).toMatchObject({ verdict: 'warning' });
    expect(of('clock')?.advice).toContain('NTP');
    const seconds = Number(/differs by (\d+) s/.exec(of('clock')?.detail ?? '')?.[1]);
    expect(Math.abs(seconds - (Date.now() - Date.UTC(2000, 0)) / 1000)).toBeLessThan(120);
  });

  test('ranges without a quorum, which are read well', async () => {
    await using simulator = await simulate({ quirks: { systemRangesLost: 'works' } });
    simulator.world.killNode(2);
    simulator.world.killNode(3);
    const { code, of } = await diagnoseBy(await configFlag(simulator));
    expect(of(ranges.request)).toMatchObject({
      verdict: 'warning',
      detail: expect.stringContaining(
        '30 replicas on node 1; 30 ranges without a quorum of replicas: requests wait',
      ),
      advice: expect.stringMatching(/^Start the nodes that are down/),
    });
    expect(code).toBe(0);
  });

  test('nodes that are down, and one that cannot be read', async () => {
    await using simulator = await simulate({ nodes: 4 });
    simulator.world.killNode(4);
    simulator.fault({ kind: 'status', status: 500, endpoint: 'node_ranges', node: 2 });
    const { code, of } = await diagnoseBy('--scan', await configFlag(simulator));
    expect(of(ranges.request)).toMatchObject({
      verdict: 'warning',
      detail: expect.stringContaining('on nodes 1 and 3; not read: node 2;'),
      advice: expect.stringContaining('the log of the node that answered'),
    });
    expect(code).toBe(0);
    expect(of('nodes')).toMatchObject({ verdict: 'warning', detail: 'Node 4 is dead.' });
    expect(of('GET /sessions/')?.detail).toContain('none from node 4');
  });

  // The last has one node, of 0.4 s; half of that, as for two at a time, would fit.
  test.each([
    [3, 'max_duty: 0.1'],
    [1, 'max_duty: 0.3, concurrency: 20'],
  ])('a range scan of %d nodes that takes too much of the time', async (nodes, options) => {
    await using simulator = await simulate({ nodes });
    simulator.fault({ kind: 'slow', ms: 400, endpoint: 'node_ranges' });
    const more = `collectors: { ranges: { interval: 1s, ${options} } }\n`;
    const { code, of } = await diagnoseBy(await configFlag(simulator, { more }));
    expect(code).toBe(0);
    expect(of('range scan')).toMatchObject({ verdict: 'warning' });
    expect(of('range scan')?.advice).toMatch(/^set collectors\.ranges\.interval to \d+\w;/);
  });

  test('tables that cannot be read', async () => {
    const more = 'collectors: { tables: { tables: [movr.public.rides, movr.public.nowhere] } }\n';
    const { code, of } = await diagnose({}, { more });
    expect(code).toBe(1);
    expect(of(tables.request)?.detail).toMatch(/; details of 1 table;/);
    expect(of(TABLE_LIST)?.detail).toMatch(/ in .*; names and sizes of \d+ tables$/);
    expect(of('table movr.public.nowhere')?.advice).toContain('check the names');
  });

  test('a user who may see no table', async () => {
    const privileges = ['VIEWCLUSTERMETADATA', 'VIEWACTIVITY'] as const;
    const users = [{ name: 'blind', password: 'x', privileges }];
    const { of } = await diagnose({ username: 'blind', password: 'x', users });
    expect(of(TABLE_LIST)).toMatchObject({ verdict: 'warning' });
    expect(of(TABLE_LIST)?.detail).toContain('GRANT CONNECT ON DATABASE … to the user');
  });

  test('no list of the tables, where it is demanded', async () => {
    const quirks = { tableMetadata: false };
    const { code, of } = await diagnose({ quirks });
    const verdicts = [TABLE_LIST, tables.request].map((check) => of(check)?.verdict);
    expect([code, ...verdicts]).toEqual([0, 'skipped', undefined]);
    const more = 'collectors: { tables: { discover: true } }\n';
    const demanded = await diagnose({ quirks }, { more });
    expect([demanded.code, demanded.of(TABLE_LIST)?.verdict]).toEqual([1, 'failed']);
  });

  test('an API key without the role', async () => {
    const { code, of } = await diagnose({}, { token: 'cluster_data_accessor-token' });
    expect(code).toBe(1);
    expect(of(cloud.request)?.advice).toContain('needs the role');
  });
});

test.each([
  [
    'good',
    { name: '127.0.0.1', days: 300 },
    true,
    'ok',
    /^TLSv1\.3, certificate for 127\.0\.0\.1, 29\d days left$/,
  ],
  [
    'to be renewed soon',
    { name: '127.0.0.1', days: 5, startDays: -300 },
    true,
    'warning',
    /cockroach cert create-node/,
  ],
  ['short-lived, and not due', { name: '127.0.0.1', days: 5 }, true, 'ok', /4 days left$/],
  [
    'short-lived, and due',
    { name: '127.0.0.1', days: 1.4, startDays: -25 },
    true,
    'warning',
    /cert-manager/,
  ],
  ['signed by an unknown CA', { name: '127.0.0.1' }, false, 'failed', /--cluster\.ca-file/],
  [
    'for another name',
    { name: 'crdb-1' },
    true,
    'failed',
    /not in the cert's list.*cluster_api\.tls\.server_name/s,
  ],
  ['expired', { name: '127.0.0.1', days: -1 }, true, 'failed', /has expired/],
] as const)('a certificate is %s', async (_, cert, isTrusted, verdict, text) => {
  const { code, of } = await diagnoseTls(cert, isTrusted);
  const { detail, advice = '', ...result } = of('TLS') ?? { detail: '' };
  expect(result).toMatchObject({ verdict });
  expect([detail, advice].join('\n').trim()).toMatch(text);
  expect(code).toBe(verdict === 'failed' ? 1 : 0);
});

test('says whether transactions are throttled, and which metrics are not sent', async () => {
  const check = 'GET /_status/throttling';
  const { of } = await diagnose();
  expect(of(check)).toMatchObject({
    verdict: 'ok',
    detail: expect.stringContaining('are not throttled'),
  });
  await using none = await simulate();
  none.world.setLicense('none');
  const unlicensed = await diagnoseBy(await configFlag(none));
  expect(unlicensed.of(check)).toMatchObject({
    verdict: 'warning',
    detail: expect.stringContaining('when the grace period of the license ends'),
  });
  none.world.setLicense('unreported');
  const old = await diagnoseBy(
    await configFlag(none, { more: 'collectors: { nodes: { metrics: [no.such.key] } }\n' }),
  );
  expect(old.of(check)).toMatchObject({ verdict: 'skipped' });
  expect(old.of('GET /nodes/')).toMatchObject({
    verdict: 'warning',
    detail: expect.stringContaining('metric no.such.key: no node with a current record sends it'),
  });
  expect(old.of('metrics of nodes')?.verdict).toMatch(/ok|skipped/);
});

test('what diagnose finds leads to the runbook, or names the alert where no address is configured', async () => {
  await using simulator = await startSimulator({ nodes: 4, ranges: 30, faultyNodes: false });
  simulator.world.killNode(4);
  const printed = async (more: string) =>
    (await runHere(['diagnose', await configFlag(simulator, { more })])).out;
  expect(await printed('')).toMatch(/Node 4 is dead\.\n.*\n {8}see CrdbNodeDead\n/);
  const links = 'links: { runbook_url: https://wiki.example }\n';
  expect(await printed(links)).toContain('see https://wiki.example/CrdbNodeDead.md\n');
  const web = 'web: { external_url: https://crdb.example/x/ }\n';
  expect(await printed(web)).toContain('see https://crdb.example/x/runbooks/CrdbNodeDead.md\n');
});

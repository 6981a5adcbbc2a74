import { describe, expect, onTestFinished, test } from 'vitest';
import { startSimulator } from '../../../simulator/index.ts';
import type { Finding, Status } from '../../../src/status/findings/status.ts';
import { logIn } from '../../simulator/client.ts';
import { openProxy } from '../../support/changing-proxy.ts';
import { onlyCollectors } from '../../support/collectors.ts';
import { startTestExporter, type TestExporter } from '../../support/exporter.ts';

const SMALL = {
  nodes: 3,
  ranges: 40,
  sessions: 4,
  metricKeys: 'useful',
  faultyNodes: false,
} as const;

type Options = Parameters<typeof startSimulator>[0];

async function simulate(options: Options = {}) {
  const simulator = await startSimulator({ ...SMALL, ...options });
  onTestFinished(() => simulator.close());
  const { username, password, clusterUrl } = simulator;
  const urls = `urls: ["${clusterUrl}"]`;
  return { simulator, urls, login: `${urls}, username: ${username}, password: ${password}` };
}

/** Message and hint of the first warning whose message has these words, of an exporter with these collectors. */
async function findWarning(
  clusterApi: string,
  collectors: Parameters<typeof onlyCollectors>[0],
  words: RegExp,
): Promise<{ readonly message: string; readonly hint: string }> {
  const cluster = `clusters: [{ name: sim, cluster_api: { ${clusterApi} } }]\n`;
  const yaml = `${onlyCollectors(collectors)}${cluster}`;
  await using exporter = await startTestExporter({ yaml, intervalSeconds: 0.2 });
  const text = String.raw`"(?:[^"\\]|\\.)*"`;
  const line = new RegExp(`level=warn msg=(${text}).* hint=(${text})`, 'g');
  const find = () => [...exporter.log().matchAll(line)].find(([, msg = '']) => words.test(msg));
  await exporter.until(() => find() !== undefined);
  const [, message = '""', hint = '""'] = find() ?? [];
  return { message: String(JSON.parse(message)), hint: String(JSON.parse(hint)) };
}

describe('the remedy of a list of ranges that does not fit is the hint, and not in the message:', () => {
  test('pages of several stores', async () => {
    const { login } = await simulate({ storesPerNode: 3 });
    const found = await findWarning(login, { ranges: { page_limit: 5 } }, /do not fit/);
    expect(found.hint).toContain('Set collectors.ranges.page_limit to 0.');
    expect(found.message).not.toContain('page_limit');
  });

  const changes = {
    'a replica that is listed twice': {
      change: (list: string) => list.replace(/"ranges":\s*\[(\{.*\})\]/s, '"ranges":[$1,$1]'),
      words: /a replica is listed twice/,
      hint: 'Look for a proxy that repeats parts of responses.',
    },
    'ranges of another node': {
      change: (list: string) => list.replaceAll(/"source_node_id":\s*\d+/g, '"source_node_id":77'),
      words: /ranges of node 77/,
      hint: 'Look for a proxy or load balancer that caches responses',
    },
    'a range id that is too large': {
      change: (list: string) => list.replaceAll(/"range_id":\s*\d+/g, '"range_id":5000000000'),
      words: /the range id 5000000000 is above/,
      hint: 'look for a proxy that changes numbers.',
    },
  };

  test.each(Object.entries(changes))('%s', async (_what, { change, words, hint }) => {
    const { simulator } = await simulate({ storesPerNode: 1, insecure: true });
    await using proxy = await openProxy(simulator.clusterUrl, (url, text) =>
      /\/nodes\/\w+\/ranges\//.test(url) ? change(text) : text,
    );
    const found = await findWarning(`urls: ["${proxy.url}"]`, { ranges: {} }, words);
    expect(found.hint).toContain(hint);
  });
});

describe('a session that is refused although its login was accepted', () => {
  const words = /connectivity at \S+: HTTP 401/;
  const collectors = { nodes: {}, network: {} };

  test('is no fault of the password', async () => {
    const { simulator, login } = await simulate();
    simulator.fault({ kind: 'status', status: 401, endpoint: 'connectivity' });
    const { message, hint } = await findWarning(login, collectors, words);
    expect(message).toMatch(/^Collector network is failing/);
    expect(hint).toMatch(/The login worked, but .*Cookie and X-Cockroach-API-Session/);
    expect(hint).not.toContain('ALTER USER');
  });

  test('is no fault of the password when all requests are refused', async () => {
    const { simulator, login } = await simulate();
    simulator.fault({ kind: 'status', status: 401, endpoint: 'nodes' });
    const { hint } = await findWarning(login, { nodes: {} }, /nodes at \S+: HTTP 401/);
    expect(hint).toContain('The login worked, but');
  });

  test('is one of a token where that is configured', async () => {
    const { simulator, urls } = await simulate();
    const token = await logIn(simulator);
    simulator.fault({ kind: 'status', status: 401, endpoint: 'connectivity' });
    const { hint } = await findWarning(`${urls}, token: "${token}"`, collectors, words);
    expect(hint).toContain('The session token is invalid or expired: create a new one');
  });
});

/** What the status says of an exporter with these collectors that fails, once all of them have failed. */
async function findFailures(
  clusterApi: string,
  collectors: Parameters<typeof onlyCollectors>[0],
): Promise<readonly Finding[]> {
  const cluster = `clusters: [{ name: sim, cluster_api: { ${clusterApi} } }]\n`;
  const yaml = `${onlyCollectors(collectors)}${cluster}`;
  await using exporter = await startTestExporter({ yaml, intervalSeconds: 0.2 });
  const success = 'crdb_exporter_collector_success';
  await exporter.until((scrape) => {
    const polled = scrape.all('crdb_exporter_collector_last_attempt_timestamp_seconds');
    const isFailing = scrape.all(success).every(({ value }) => value === 0);
    return polled.length === Object.keys(collectors).length && isFailing;
  });
  return await findExporterFaults(exporter);
}

async function findExporterFaults(exporter: TestExporter): Promise<readonly Finding[]> {
  const { clusters }: Status = JSON.parse((await exporter.get('/api/status')).text);
  return clusters.flatMap(({ findings }) => findings.filter(({ about }) => about === 'exporter'));
}

describe('a failed login', () => {
  const query = { name: 'one', help: 'One.', sql: 'SELECT 1 AS one', values: { one: 'gauge' } };
  const collectors = {
    nodes: {},
    network: {},
    tables: {},
    users: {},
    sql: { queries: [query] },
  };

  test.each([
    ['status 500', { kind: 'status', status: 500 }, 'The reason is only in the log of the node'],
    ['status 404', { kind: 'status', status: 404 }, 'The URL is not that of a CockroachDB node'],
    ['status 403', { kind: 'status', status: 403 }, 'Nodes refuse logins with 401, never with 403'],
    ['status 415', { kind: 'status', status: 415 }, 'Check the server, then try again'],
    ['a page', { kind: 'html' }, 'The response is not from this API'],
    ['too much', { kind: 'huge' }, 'The response is larger than allowed'],
  ] as const)('with %s is one problem, of the login', async (_what, fault, remedy) => {
    const { simulator, login } = await simulate();
    simulator.fault({ ...fault, endpoint: 'login' });
    const found = await findFailures(login, collectors);
    expect(found).toHaveLength(1);
    expect(found[0]?.text).toMatch(/login at/);
    expect(found[0]?.next).toContain(remedy);
    expect(found[0]?.next).toMatch(/collectors: nodes, [^.]*tables[^.]*\./);
  });
});

test('a revoked session and the login that is refused after it are one problem, that of the login', async () => {
  const { simulator, login } = await simulate();
  const yaml = `${onlyCollectors({ nodes: {}, network: {} })}clusters: [{ name: sim, cluster_api: { ${login} } }]\n`;
  await using exporter = await startTestExporter({ yaml, intervalSeconds: 0.2 });
  const read = () => findExporterFaults(exporter);
  await exporter.until((scrape) => scrape.value('crdb_up') === 1);
  simulator.fault({ kind: 'status', status: 401, endpoint: 'login' });
  simulator.world.revokeTokens();
  await expect.poll(async () => (await read())[0]?.next).toContain('ALTER USER');
  await expect.poll(async () => (await read())[0]?.next).toContain('collectors: nodes and network');
  expect(await read()).toHaveLength(1);
});

describe('the remedy of a failure without a reason of its own is the hint:', () => {
  test('URLs of two clusters', async () => {
    const [east, west] = await Promise.all([
      simulate({ clusterName: 'east', insecure: true }),
      simulate({ clusterName: 'west', insecure: true }),
    ]);
    const urls = `urls: ["${east.simulator.clusterUrl}", "${west.simulator.clusterUrl}"]`;
    const { message, hint } = await findWarning(urls, { ranges: {} }, /different clusters/);
    expect(hint).toContain('Remove the wrong one from cluster_api.urls, or configure');
    expect(message).not.toContain('cluster_api.urls');
  });

  const answers = {
    'sessions of which every node reports errors': {
      collectors: { sessions: {} },
      path: '/sessions/',
      answer: () =>
        JSON.stringify({ sessions: [], errors: [1, 2, 3].map((id) => ({ node_id: id })) }),
      words: /all nodes reported errors/,
      remedy: 'Check the log of the node that answered',
    },
    'sessions of nodes that are not named': {
      collectors: { sessions: {} },
      path: '/sessions/',
      answer: () => JSON.stringify({ sessions: [], errors: [{}] }),
      words: /could not ask all nodes/,
      remedy: 'Check the log of the node that answered',
    },
    'ranges while no node is live': {
      collectors: { ranges: {} },
      path: '/nodes/?',
      answer: (text: string) => text.replaceAll(/"liveness_status":\s*3/g, '"liveness_status":1'),
      words: /no node is live/,
      remedy: 'Start the nodes that are down: `crdb-exporter nodes` lists them',
    },
  };

  test.each(Object.entries(answers))('%s', async (_what, { collectors, path, answer, ...each }) => {
    const { simulator } = await simulate({ insecure: true });
    await using proxy = await openProxy(simulator.clusterUrl, (url, text) =>
      url.includes(path) ? answer(text) : text,
    );
    const found = await findWarning(`urls: ["${proxy.url}"]`, collectors, each.words);
    expect(found.hint).toContain(each.remedy);
    expect(found.hint).not.toContain('Check the log of the exporter');
  });
});

describe('a redirect', () => {
  test.each([
    ['to a login page', { kind: 'redirect', location: '/login' }],
    ['to a login page elsewhere', { kind: 'redirect', location: 'https://login.example/' }],
    ['without a target', { kind: 'status', status: 303 }],
  ] as const)('%s of one path is no wrong scheme', async (_what, fault) => {
    const { simulator, urls } = await simulate({ insecure: true });
    simulator.fault({ ...fault, endpoint: 'connectivity' });
    const found = await findWarning(urls, { nodes: {}, network: {} }, /connectivity at/);
    expect(found.message).toMatch(/HTTP 30\d \(a redirect, not followed\)\.$/);
    expect(found.hint).toContain('A proxy answers this path with a redirect');
    expect(found.hint).not.toMatch(/https:/);
    expect(JSON.stringify(found)).not.toContain('login.example');
  });

  test('to https is one of the scheme, and its target is nowhere in the log', async () => {
    const { simulator, urls } = await simulate({ insecure: true });
    const location = 'https://127.0.0.1/secret';
    simulator.fault({ kind: 'redirect', location, endpoint: 'nodes' });
    const found = await findWarning(urls, { nodes: {} }, /nodes at/);
    expect(found.message).toMatch(/HTTP 302 \(a redirect to https, not followed\)\.$/);
    expect(found.hint).toContain('write https:// in the URL');
    expect(JSON.stringify(found)).not.toMatch(/secret/);
  });

  test('is none where a cache answers that nothing has changed', async () => {
    const { simulator, urls } = await simulate({ insecure: true });
    simulator.fault({ kind: 'status', status: 304, endpoint: 'nodes' });
    const found = await findWarning(urls, { nodes: {} }, /nodes at/);
    expect(found.message).toMatch(/HTTP 304 \(not modified\)\.$/);
    expect(found.hint).toContain('without caching');
  });
});

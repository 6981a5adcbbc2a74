import { describe, expect, onTestFinished, test } from 'vitest';
import { startSimulator } from '../../../simulator/index.ts';
import { createRemedyFinder, type FindRemedy } from '../../../src/cockroach/diagnosis/diagnosis.ts';
import { failureOf, RequestError } from '../../../src/cockroach/http/errors.ts';
import { COLLECTORS } from '../../../src/collectors/all-collectors.ts';
import { nodes } from '../../../src/collectors/nodes/collector.ts';
import { users } from '../../../src/collectors/users.ts';
import { loadConfig } from '../../../src/config/load.ts';
import { configFlag, runHere } from '../../cli/run.ts';
import { createAuthority } from '../../support/certificates.ts';
import { refusing, serve } from '../../support/http-server.ts';
import { ASSISTANT, CLOUD_CASES } from './cloud-cases.ts';
import { type Case, CLUSTER_CASES } from './cluster-cases.ts';

const SMALL: NonNullable<Case['options']> = {
  nodes: 3,
  ranges: 12,
  sessions: 4,
  metricKeys: 'useful',
};

function expectOneSentence(text: string, { problem, remedy }: Pick<Case, 'problem' | 'remedy'>) {
  // Besides announcements of changes and failed logouts.
  const message = text.replaceAll(/^crdb-exporter: (?:about to|logout failed).*\n/gm, '');
  expect(message).toMatch(/^crdb-exporter: [^\n]+\n$/);
  expect(message).toMatch(problem);
  expect(message).toContain(remedy);
}

describe('a command reports cause and remedy in one sentence when', () => {
  test.each([...CLUSTER_CASES, ...CLOUD_CASES])('$when', async (each) => {
    const { options, fault, command, ...config } = each;
    await using simulator = await startSimulator({ ...SMALL, faultyNodes: false, ...options });
    if (fault !== undefined) simulator.fault(fault);
    const flag = await configFlag(simulator, config);
    const { code, out, err } = await runHere([...command, flag]);
    expect({ code, out }).toEqual({ code: command.includes('sin') ? 2 : 1, out: '' });
    expectOneSentence(err, each);
  });

  test('nothing listens', async () => {
    const { code, err } = await runHere(['nodes', `--cluster.url=${await refusing()}`]);
    expect(code).toBe(1);
    const remedy = 'the SQL port (26257)';
    expectOneSentence(err, { problem: /connect ECONNREFUSED/, remedy });
  });

  test('the name does not resolve', async () => {
    const { code, err } = await runHere(['nodes', '--cluster.url=http://nowhere.invalid:8080']);
    expect(code).toBe(1);
    expectOneSentence(err, { problem: /nowhere\.invalid/, remedy: 'name' });
  });

  test('the CA is unknown, without the advice of Node.js', async () => {
    const tls = await (await createAuthority()).issue({ name: 'crdb', sans: ['ip:127.0.0.1'] });
    await using simulator = await startSimulator({ ...SMALL, tls });
    const { code, err } = await runHere(['nodes', `--cluster.url=${simulator.clusterUrl}`]);
    expect(code).toBe(1);
    const problem = /: unable to verify the first certificate \(UNABLE_TO_VERIFY_LEAF_SIGNATURE\);/;
    expectOneSentence(err, { problem, remedy: 'set cluster_api.tls.ca_file (--cluster.ca-file)' });
    expect(err).not.toContain('--use-system-ca');
  });

  test('it is no CockroachDB node', async () => {
    const server = await serve((_request, response) => {
      response.statusCode = 404;
      response.end('404 page not found');
    });
    onTestFinished(() => server[Symbol.asyncDispose]());
    const { code, err } = await runHere(['nodes', `--cluster.url=${server.url}`]);
    expect(code).toBe(1);
    const remedy = 'the URL is not that of a CockroachDB node';
    expectOneSentence(err, { problem: /HTTP 404/, remedy });
  });

  test('the cluster has no such API', async () => {
    const { code, err } = await runHere([...ASSISTANT, '--cluster.url=http://127.0.0.1:1']);
    expect(code).toBe(2);
    const remedy = 'set --cloud.cluster-id and --cloud.token-file';
    expectOneSentence(err, { problem: /the cluster default has no cloud_api/, remedy });
  });

  test('the file of a secret is gone', async () => {
    const flags = ['--cluster.url=http://127.0.0.1:1', '--cluster.username=u'];
    const { code, err } = await runHere(['nodes', ...flags, '--cluster.password-file=/nowhere']);
    expect(code).toBe(2);
    expect(err).toContain('/nowhere');
    expect(err).not.toMatch(/^ +at /m);
  });
});

async function remedies(): Promise<FindRemedy> {
  const flags = { 'cluster.url': ['https://crdb:26257'], 'cluster.username': 'exporter' };
  const env = { CRDB_EXPORTER_CLUSTER_PASSWORD: 'x' };
  const { config } = await loadConfig({ collectors: COLLECTORS, flags, env });
  const [cluster] = config.clusters;
  if (cluster === undefined) throw new Error('no cluster');
  return createRemedyFinder(cluster);
}

describe('the remedy of a failed poll', () => {
  test.each(COLLECTORS.map((collector) => [collector.name, collector]))(
    'of %s names its privilege when it is forbidden',
    async (_name, collector) => {
      const failure = new RequestError('forbidden', 'HTTP 403');
      const found = (await remedies())(collector, failure, false);
      expect(found?.remedy).toContain(collector.privilege);
    },
  );

  test('is that of the last failure while a circuit breaker is open', async () => {
    const find = await remedies();
    const skipped = new RequestError('breaker_open', 'poll skipped');
    expect(find(users, skipped, false)?.remedy).toContain('failed several times in a row');
    const message = 'nodes at crdb:8080: connect ECONNREFUSED';
    const error = new RequestError('network', message, {
      cause: Object.assign(new Error(message), { code: 'ECONNREFUSED' }),
    });
    const { rule, remedy } = find(nodes, error, false) ?? {};
    expect(remedy).toMatch(/^nothing listens there/);
    find(users, new RequestError('forbidden', 'HTTP 403'), false);
    expect(find(users, skipped, false)).toEqual({
      rule,
      remedy: `the last failure was: ${message}; ${remedy}`,
    });
  });

  test('names the SQL port if the URL has it', async () => {
    const find = await remedies();
    const remedyAt = (url: string): string | undefined =>
      find(nodes, new RequestError('timeout', 'no headers', { url }), false)?.remedy;
    expect(remedyAt('https://crdb:26257/api/v2')).toContain('26257 is the SQL port');
    expect(remedyAt('https://crdb:8080/api/v2')).not.toContain('26257');
  });

  test('follows from the request that failed first, when a collector sums its failures up', async () => {
    const find = await remedies();
    const cause = new RequestError('timeout', 'no headers', { endpoint: 'node_ranges', node: 3 });
    const summary = new RequestError('timeout', '2 of 3 nodes were not read', { cause });
    expect(find(nodes, summary, false)?.remedy).toMatch(/^the node may be frozen/);
  });

  test('has the same rule when only its numbers differ, and another one for another privilege', async () => {
    const find = await remedies();
    const found = [3, 7].map((retryAfterSeconds) =>
      find(nodes, new RequestError('http', 'HTTP 429', { status: 429, retryAfterSeconds }), true),
    );
    expect(found.map((each) => each?.rule)).toEqual(['rate limit', 'rate limit']);
    expect(found[0]?.remedy).not.toBe(found[1]?.remedy);
    const forbidden = new RequestError('forbidden', 'HTTP 403');
    const rules = COLLECTORS.map((collector) => find(collector, forbidden, true)?.rule);
    expect(rules).toEqual(COLLECTORS.map(({ privilege }) => privilege));
  });

  test('is that of the failure itself where it has one, which is a cause of its own', async () => {
    const find = await remedies();
    const found = ['set page_limit to 0', 'look for a proxy'].map((remedy) =>
      find(nodes, new RequestError('decode', 'no list', { remedy }), true),
    );
    expect(found.map((each) => each?.remedy)).toEqual(['set page_limit to 0', 'look for a proxy']);
    expect(found[0]?.rule).not.toBe(found[1]?.rule);
  });

  test('is unknown for a defect of the exporter', async () => {
    const failure = failureOf(new TypeError('x is not a function'));
    expect((await remedies())(nodes, failure, false)).toBeUndefined();
  });
});

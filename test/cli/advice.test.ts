import { createServer } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startSimulator } from '../../src/simulator/index.ts';
import { refusing, serve } from '../support/http-server.ts';
import { ASSISTANT, CLOUD_CASES } from './cloud-failure-cases.ts';
import { type Case, CLUSTER_CASES } from './failure-cases.ts';
import { configFlag, runHere } from './run.ts';

const SMALL: NonNullable<Case['options']> = {
  nodes: 3,
  ranges: 12,
  sessions: 4,
  metricKeys: 'useful',
};

function expectOneSentence(text: string, { problem, remedy }: Pick<Case, 'problem' | 'remedy'>) {
  // Beside it stand what was going to be done, and that a server out of reach could not be told the end.
  const said = text.replaceAll(/^crdb-exporter: (?:about to|could not log out).*\n/gm, '');
  expect(said).toMatch(/^crdb-exporter: [^\n]+\n$/);
  expect(said).toMatch(problem);
  expect(said).toContain(remedy);
}

describe('a command says in one sentence what is wrong and what to do when', () => {
  test.each([...CLUSTER_CASES, ...CLOUD_CASES])('$when', async (each) => {
    const { options, fault, command, ...config } = each;
    await using simulator = await startSimulator({ ...SMALL, troubledNodes: false, ...options });
    if (fault !== undefined) simulator.fault(fault);
    const flag = await configFlag(simulator, config);
    const { code, out, err } = await runHere([...command, flag]);
    expect({ code, out }).toEqual({ code: command.includes('sin') ? 2 : 1, out: '' });
    expectOneSentence(err, each);
  });

  test('nothing listens', async () => {
    const { code, err } = await runHere(['nodes', `--cluster.url=${await refusing()}`]);
    expect(code).toBe(1);
    const remedy = 'that of SQL (26257)';
    expectOneSentence(err, { problem: /connect ECONNREFUSED/, remedy });
  });

  test('the name does not resolve', async () => {
    const { code, err } = await runHere(['nodes', '--cluster.url=http://nowhere.invalid:8080']);
    expect(code).toBe(1);
    expectOneSentence(err, { problem: /nowhere\.invalid/, remedy: 'name' });
  });

  test('the port does not speak TLS', async () => {
    const server = await serve((_request, response) => response.end('{}'));
    onTestFinished(() => server[Symbol.asyncDispose]());
    const url = server.url.replace('http:', 'https:');
    const { code, err } = await runHere(['nodes', `--cluster.url=${url}`]);
    expect(code).toBe(1);
    const remedy = 'that port does not speak TLS: write http:// in the URL';
    expectOneSentence(err, { problem: /nodes at \S+: /, remedy });
  });

  test('no HTTP server listens there', async () => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.end('SSH-2.0-OpenSSH_9.6\r\n');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : 0;
    const { code, err } = await runHere(['nodes', `--cluster.url=http://127.0.0.1:${port}`]);
    expect(code).toBe(1);
    const remedy = 'no HTTP server listens there';
    expectOneSentence(err, { problem: /nodes at \S+: the answer is not HTTP/, remedy });
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
    const remedy = 'give --cloud.cluster-id and --cloud.token-file';
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

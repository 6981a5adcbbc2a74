import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  ASSISTANT_PASSWORD,
  type Simulator,
  startSimulator,
} from '../../../src/simulator/index.ts';
import { configFlag, PROCESS_TIMEOUT_MS, run, runHere, start, writeTemporary } from '../run.ts';

const PEM = '-----BEGIN CERTIFICATE-----\nc29tZSBieXRlcw==\n-----END CERTIFICATE-----\n';

let simulator: Simulator;
let config: string;

beforeEach(async () => {
  simulator = await startSimulator({ nodes: 3, ranges: 12, sessions: 4, metricKeys: 'useful' });
  simulator.world.setAssistantDuration(50);
  config = await configFlag(simulator);
});

afterEach(() => simulator.close());

const cloud = (...args: readonly string[]) => runHere(['cloud', ...args, config]);

function calls(): string[] {
  return simulator.requests.entries
    .filter(({ api }) => api === 'cloud')
    .map(({ method, endpoint }) => `${method} ${endpoint}`);
}

describe('a command that changes something', () => {
  test.each([
    ['rename-database', 'movr', 'rides'],
    ['assistant', 'provision'],
    ['assistant', 'delete'],
    ['ca-cert', 'delete'],
  ])('does not do %s %s without --yes in a non-interactive session', async (...words) => {
    const { code, out, err } = await runHere(['cloud', ...words, config]);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(`on cluster sim (${simulator.cloudClusterId} at ${simulator.cloudUrl})`);
    expect(err).toContain('this session is not interactive: add --yes to confirm');
    expect(calls()).toEqual([]);
  });

  test('renames a database', async () => {
    const { code, out, err } = await cloud('rename-database', 'movr', 'rides', '--yes');
    expect({ code, out }).toEqual({ code: 0, out: 'DATABASE  TABLES\nrides     5\n' });
    expect(err).toContain('about to rename the database "movr" to "rides" on cluster sim');
    const databases = new Set(simulator.truth().tables.map(({ database }) => database));
    expect(databases).toEqual(new Set(['rides', 'bank']));
  });

  test('is retried after 429', async () => {
    simulator.world.provisionAssistant('');
    simulator.fault({ kind: 'status', status: 429, api: 'cloud', times: 1 });
    const file = await writeTemporary('ca.pem', PEM);
    expect(await cloud('ca-cert', 'set', file, '--yes')).toMatchObject({ code: 0 });
    expect(calls()).toEqual(['PATCH ca_cert', 'PATCH ca_cert']);
  });

  test.each([
    ['a 500', { kind: 'status', status: 500 }],
    ['a 503', { kind: 'status', status: 503 }],
    ['a lost connection', { kind: 'reset' }],
  ] as const)('is not retried after %s', async (_name, fault) => {
    simulator.fault({ api: 'cloud', ...fault });
    expect((await cloud('assistant', 'provision', '--yes')).code).toBe(1);
    expect(calls()).toEqual(['POST assistant']);
  });
});

/** The requests that change something. */
const writes = () => calls().filter((call) => !call.startsWith('GET '));

/** Every command that changes something; the file is a bundle of certificates. */
const WRITING: readonly (readonly string[])[] = [
  ['rename-database', 'movr', 'rides'],
  ['assistant', 'provision'],
  ['assistant', 'delete'],
  ['ca-cert', 'set', 'FILE'],
  ['ca-cert', 'delete'],
];

async function change(words: readonly string[]) {
  const file = await writeTemporary('ca.pem', PEM);
  return cloud(...words.map((word) => (word === 'FILE' ? file : word)), '--yes');
}

/** The requests that a command sends before the one that changes something. */
const readsBefore = (words: readonly string[]) => (words.join(' ') === 'ca-cert delete' ? 1 : 0);

describe.each(WRITING.map((words) => ({ words })))('$words', ({ words }) => {
  const skip = readsBefore(words);

  beforeEach(() => {
    if (!words.includes('provision')) simulator.world.provisionAssistant('');
  });

  test(
    'says after Ctrl-C that the change may have been made',
    { timeout: PROCESS_TIMEOUT_MS },
    async () => {
      const file = await writeTemporary('ca.pem', PEM);
      simulator.fault({ api: 'cloud', kind: 'hang', skip });
      const args = words.map((word) => (word === 'FILE' ? file : word));
      await using running = start(['cloud', ...args, '--yes', config]);
      while (writes().length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
      running.child.kill('SIGINT');
      const { code, err } = await running.ended;
      expect(code).toBe(130);
      const verification = words.includes('movr') ? 'with SHOW DATABASES' : 'with `cloud ';
      expect(err).toContain(
        `cancelled: the service may have made the change: check ${verification}`,
      );
    },
  );

  test.each([201, 202, 299])('succeeds with status %i', async (status) => {
    simulator.fault({ api: 'cloud', skip, kind: 'status', status, body: '{}' });
    expect((await change(words)).code).toBe(0);
    expect(writes()).toHaveLength(1);
  });

  test('succeeds with 204 and no body', async () => {
    simulator.fault({ api: 'cloud', skip, kind: 'no-content' });
    const { code, out, err } = await change(words);
    expect(code).toBe(0);
    expect(out + err).toMatch(/^(?:crdb-exporter: done: |rides )/m);
    expect(out + err).not.toContain('undefined');
  });

  test.each([
    ['a 500', { kind: 'status', status: 500 }],
    ['a 503', { kind: 'status', status: 503 }],
    ['a 504', { kind: 'status', status: 504 }],
    ['a 408', { kind: 'status', status: 408 }],
    ['a lost connection', { kind: 'reset' }],
    ['an answer cut short', { kind: 'cut', bytes: 2 }],
    ['an empty 200', { kind: 'empty' }],
    ['a page', { kind: 'html' }],
    ['half a document', { kind: 'bad-json' }],
    ['a 201 that never ends', { kind: 'huge' }],
  ] as const)('is not retried, and may have been made, after %s', async (_what, fault) => {
    simulator.fault({ api: 'cloud', skip, ...fault });
    const { code, err } = await change(words);
    expect(code).toBe(1);
    expect(err).toContain('the service may have made the change: check with ');
    expect(err).not.toMatch(/try(?:ing)? again|retry/);
    expect(writes()).toHaveLength(1);
  });

  test.each([400, 401, 403, 404, 409, 501])('was not made after a %i', async (status) => {
    simulator.fault({ api: 'cloud', skip, kind: 'status', status });
    const { code, err } = await change(words);
    expect(code).toBe(1);
    expect(err).not.toContain('may have made the change');
  });
});

test('a read with 204 fails', async () => {
  simulator.fault({ api: 'cloud', kind: 'no-content' });
  expect((await cloud('assistant', 'get')).code).toBe(1);
});

describe('the migration assistant', () => {
  test('is waited for after a 204', async () => {
    simulator.world.provisionAssistant('');
    simulator.fault({ api: 'cloud', kind: 'no-content', times: 1 });
    const { code, out } = await cloud('assistant', 'provision', '--yes', '--wait');
    expect(code).toBe(0);
    expect(out).toMatch(/^status +RUNNING$/m);
  });

  test.each([400, 401, 403])('was requested, even if a %i ends the wait', async (status) => {
    simulator.fault({ kind: 'status', status, api: 'cloud', skip: 1 });
    const { code, err } = await cloud('assistant', 'provision', '--yes', '--wait');
    expect(code).toBe(1);
    expect(err).toContain('was requested nevertheless: check with `cloud assistant get`');
    expect(err).not.toMatch(/try again/);
  });

  test('is provisioned, waited for and shown without its password', async () => {
    const { code, out, err } = await cloud('assistant', 'provision', '--yes', '--wait');
    expect(code).toBe(0);
    expect(out).toMatch(/^status +RUNNING$/m);
    expect(out).toMatch(/^password +<secret>$/m);
    expect(out + err).not.toContain(ASSISTANT_PASSWORD);
  });

  test('shows its password only with --show-password', async () => {
    await cloud('assistant', 'provision', '--yes', '--wait');
    const hidden = await cloud('assistant', 'get', '--output', 'json');
    expect(hidden.out).not.toContain(ASSISTANT_PASSWORD);
    const shown = await cloud('assistant', 'get', '--show-password', '--output', 'json');
    expect(JSON.parse(shown.out)).toMatchObject({
      password: ASSISTANT_PASSWORD,
      status: 'RUNNING',
    });
  });

  test('reports why provisioning failed', async () => {
    simulator.world.failNextProvisioning();
    const { code, out, err } = await cloud('assistant', 'provision', '--yes', '--wait');
    expect(code).toBe(1);
    expect(out).toMatch(/^status +FAILED$/m);
    expect(err).toContain('provisioning failed: provisioning failed: quota exceeded');
  });

  test('is waited for across transient failures', async () => {
    simulator.fault({ kind: 'status', status: 500, api: 'cloud', skip: 1, times: 1 });
    const { code, out, err } = await cloud('assistant', 'provision', '--yes', '--wait');
    expect(code).toBe(0);
    expect(out).toMatch(/^status +RUNNING$/m);
    expect(err).toMatch(/HTTP 500.*; retrying/);
  });

  test('is waited for across an unknown status', async () => {
    const body = '{"id":"a1","status":"PROVISIONING_V2"}';
    simulator.fault({ kind: 'status', status: 200, body, api: 'cloud', skip: 1, times: 1 });
    const { code, out } = await cloud('assistant', 'provision', '--yes', '--wait');
    expect(code).toBe(0);
    expect(out).toMatch(/^status +RUNNING$/m);
  });

  test('is not waited for while it is being deleted', async () => {
    const body = '{"id":"a1","status":"DELETING"}';
    simulator.fault({ kind: 'status', status: 200, body, api: 'cloud', skip: 1, times: 1 });
    const { code, err } = await cloud('assistant', 'provision', '--yes', '--wait');
    expect(code).toBe(1);
    expect(err).toContain('the migration assistant is being deleted');
  });

  test('is deployed in the requested region', async () => {
    const args = ['--region', 'us-west2', '--yes', '--output', 'ndjson'];
    const { out } = await cloud('assistant', 'provision', ...args);
    expect(JSON.parse(out)).toMatchObject({ deployed_region: 'us-west2', status: 'PENDING' });
  });

  test('is deleted', async () => {
    await cloud('assistant', 'provision', '--yes', '--wait');
    const { code, out } = await cloud('assistant', 'delete', '--yes');
    expect(code).toBe(0);
    expect(out).toMatch(/^status +DELETING$/m);
  });

  test('continues after Ctrl-C', { timeout: PROCESS_TIMEOUT_MS }, async () => {
    simulator.world.setAssistantDuration(600_000);
    await using running = start(['cloud', 'assistant', 'provision', '--yes', '--wait', config]);
    while (calls().length < 2) await new Promise((resolve) => setTimeout(resolve, 20));
    running.child.kill('SIGINT');
    const { code, out, err } = await running.ended;
    expect({ code, out }).toEqual({ code: 130, out: '' });
    expect(err).toContain('provisioning continues: see `cloud assistant get`');
    expect(simulator.truth().assistant?.status).toBe('PENDING');
  });
});

test('works as a process of its own, too', { timeout: PROCESS_TIMEOUT_MS }, async () => {
  const { code, out } = await run(['cloud', 'rename-database', 'movr', 'm', '--yes', config]);
  expect({ code, out }).toEqual({ code: 0, out: 'DATABASE  TABLES\nm         5\n' });
});

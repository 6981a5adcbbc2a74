import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ASSISTANT_PASSWORD, type Simulator, startSimulator } from '../../../simulator/index.ts';
import { configFlag, PROCESS_TIMEOUT_MS, runHere, start, writeTemporary } from '../run.ts';

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
});

/** The requests that change something. */
const writes = () => calls().filter((call) => !call.startsWith('GET '));

const RENAME = ['rename-database', 'movr', 'rides'];

/** Runs a command that changes something; FILE is a bundle of certificates. */
async function change(words: readonly string[]) {
  const file = await writeTemporary('ca.pem', PEM);
  return cloud(...words.map((word) => (word === 'FILE' ? file : word)), '--yes');
}

describe.each([
  { words: RENAME },
  { words: ['assistant', 'provision'] },
  { words: ['assistant', 'delete'] },
  { words: ['ca-cert', 'set', 'FILE'] },
  // It reads the bundle before.
  { words: ['ca-cert', 'delete'], skip: 1 },
])('$words', ({ words, skip = 0 }) => {
  beforeEach(() => {
    if (!words.includes('provision')) simulator.world.provisionAssistant('');
  });

  test('succeeds with 204 and no body', async () => {
    simulator.fault({ api: 'cloud', skip, kind: 'no-content' });
    const { code, out, err } = await change(words);
    expect(code).toBe(0);
    expect(out + err).toMatch(/^(?:crdb-exporter: done: |rides )/m);
    expect(out + err).not.toContain('undefined');
  });

  test('is not retried, and may have been made, after a lost connection', async () => {
    simulator.fault({ api: 'cloud', skip, kind: 'reset' });
    const { code, err } = await change(words);
    expect(code).toBe(1);
    expect(err).toContain('the service may have made the change: check with ');
    expect(writes()).toHaveLength(1);
  });
});

type Fault = Parameters<Simulator['fault']>[0];
const answer = (code: number, body = '{}'): Fault => ({ kind: 'status', status: code, body });
const UNCLEAR: readonly Fault[] = [
  ...[500, 503, 504, 408].map((code) => answer(code)),
  answer(200, '{"code":7,"message":"not allowed"}'),
  { kind: 'cut', bytes: 2 },
  { kind: 'empty' },
  { kind: 'html' },
  { kind: 'bad-json' },
  { kind: 'huge' },
];

test.each<readonly [fault: Fault, exitCode: number, mayHaveChanged: boolean]>([
  ...[201, 299].map((code) => [answer(code, '{"name":"rides"}'), 0, false] as const),
  ...UNCLEAR.map((fault) => [fault, 1, true] as const),
  ...[400, 401, 403, 404, 409, 501].map((code) => [answer(code), 1, false] as const),
])('after %j a change ends with %i; it may have been made: %j', async (fault, ...expected) => {
  simulator.fault({ ...fault, api: 'cloud' });
  const { code, err } = await change(RENAME);
  expect([code, err.includes('the service may have made the change: check with ')]).toEqual(
    expected,
  );
  expect(writes()).toHaveLength(1);
});

test(
  'says after Ctrl-C that the change may have been made',
  { timeout: PROCESS_TIMEOUT_MS },
  async () => {
    simulator.fault({ api: 'cloud', kind: 'hang' });
    await using running = start(['cloud', ...RENAME, '--yes', config]);
    while (writes().length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    running.child.kill('SIGINT');
    const { code, err } = await running.ended;
    expect(code).toBe(130);
    expect(err).toContain(
      'cancelled: the service may have made the change: check with SHOW DATABASES',
    );
  },
);

describe('the migration assistant', () => {
  test.each([401, 404, 501])('was requested, even if a %i ends the wait', async (status) => {
    simulator.fault({ kind: 'status', status, api: 'cloud', skip: 1 });
    const { code, err } = await cloud('assistant', 'provision', '--yes', '--wait');
    expect(code).toBe(1);
    expect(err).toContain('provisioning continues: see `cloud assistant get`');
  });

  test('is not said to be missing where its region is', async () => {
    const body = '{"code":5,"message":"region us-east9 not found"}';
    simulator.fault({ kind: 'status', status: 404, body, api: 'cloud' });
    const { err } = await cloud('assistant', 'provision', '--region', 'us-east9', '--yes');
    expect(err).toContain('region us-east9 not found; check --region: ');
  });

  test('is provisioned, waited for and shown without its password', async () => {
    const { code, out, err } = await cloud('assistant', 'provision', '--yes', '--wait');
    expect(code).toBe(0);
    expect(out).toMatch(/^status +RUNNING$/m);
    expect(out).toMatch(/^password +<secret>$/m);
    expect(out).not.toContain(ASSISTANT_PASSWORD);
    expect(err).toMatch(/deploy a migration assistant in the first region of the cluster on .*\n$/);
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
    const flags = ['--region', 'us-west2', '--yes', '--wait'];
    const { code, out, err } = await cloud('assistant', 'provision', ...flags);
    expect(code).toBe(1);
    expect(out).toMatch(/^status +FAILED$/m);
    expect(out).not.toMatch(/^password/m);
    expect(err).toMatch(/ in us-west2 on cluster sim .*\n.*failed: provisioning failed: quota exc/);
  });

  test('is waited for across transient failures', async () => {
    simulator.fault({ kind: 'status', status: 500, api: 'cloud', skip: 1, times: 1 });
    const { code, out, err } = await cloud('assistant', 'provision', '--yes', '--wait');
    expect(code).toBe(0);
    expect(out).toMatch(/^status +RUNNING$/m);
    expect(err).toMatch(/HTTP 500.*; retrying/);
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

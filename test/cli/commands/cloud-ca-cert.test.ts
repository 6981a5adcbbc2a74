import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Simulator, startSimulator } from '../../../simulator/index.ts';
import { PROGRAM } from '../../support/program.ts';
import { configFlag, PROCESS_TIMEOUT_MS, runHere, startProgram, writeTemporary } from '../run.ts';

const PEM = '-----BEGIN CERTIFICATE-----\nc29tZSBieXRlcw==\n-----END CERTIFICATE-----\n';

let simulator: Simulator;
let config: string;

beforeEach(async () => {
  simulator = await startSimulator({ nodes: 3, ranges: 12, sessions: 4, metricKeys: 'useful' });
  simulator.world.provisionAssistant('');
  config = await configFlag(simulator);
});

afterEach(() => simulator.close());

const cloud = (...args: readonly string[]) => runHere(['cloud', ...args, config]);

const calls = () =>
  simulator.requests.entries.map(({ method, endpoint }) => `${method} ${endpoint}`);

/** The requests that change something. */
const writes = () => calls().filter((call) => !call.startsWith('GET '));

/** A path beside a new file, where nothing is yet. */
const newPath = async () => path.join(path.dirname(await writeTemporary('x', '')), 'saved.pem');
const setBundle = async () => {
  await cloud('ca-cert', 'set', await writeTemporary('ca.pem', PEM), '--yes');
  simulator.requests.clear();
};

describe('the CA certificate of the source', () => {
  test('is set, shown and deleted', async () => {
    const file = await writeTemporary('ca.pem', PEM);
    expect((await cloud('ca-cert', 'set', file, '--yes')).code).toBe(0);
    expect((await cloud('ca-cert', 'get')).out).toBe(PEM);
    const { code, out, err } = await cloud('ca-cert', 'delete', '--yes');
    expect({ code, out }).toEqual({ code: 0, out: PEM });
    expect(err).toContain("the assistant trusts the system's roots");
    const none = await cloud('ca-cert', 'get');
    expect(none).toMatchObject({ code: 0, out: '' });
    expect(none.err).toContain("there is no bundle: the assistant trusts the system's roots");
  });

  test('is saved in a new file, never over an old one', async () => {
    const file = await writeTemporary('ca.pem', PEM);
    await cloud('ca-cert', 'set', file, '--yes');
    const refused = await cloud('ca-cert', 'delete', '--yes', '--save', file);
    expect(refused.code).toBe(2);
    expect(refused.err).toContain('it exists: choose a new one; nothing was deleted');
    const saved = path.join(path.dirname(file), 'saved.pem');
    const { code, out } = await cloud('ca-cert', 'delete', '--yes', '--save', saved);
    expect({ code, out }).toEqual({ code: 0, out: '' });
    expect(await readFile(saved, 'utf8')).toBe(PEM);
  });

  test.each([
    ['a 204', { kind: 'no-content' }, 0, 'certificates are saved in'],
    ['a 400', { kind: 'status', status: 400 }, 1, 'ca-cert-delete at 127.0.0.1'],
    ['a lost connection', { kind: 'reset' }, 1, 'may have made the change'],
  ] as const)('is saved before it is deleted, also when that ends with %s', async (...row) => {
    const [, fault, code, message] = row;
    await setBundle();
    const saved = await newPath();
    simulator.fault({ ...fault, api: 'cloud', skip: 1 });
    const ended = await cloud('ca-cert', 'delete', '--yes', '--save', saved);
    expect(ended).toMatchObject({ code, out: '', err: expect.stringContaining(message) });
    expect(calls()).toEqual(['GET ca_cert', 'DELETE ca_cert']);
    expect(await readFile(saved, 'utf8')).toBe(PEM);
  });

  test.each([
    ['a 500', 500, ''],
    ['text of another type', 200, '{"x509_pem_cert":7}'],
    ['an error', 200, '{"code":5,"message":"x"}'],
  ])('is not deleted where it cannot be read, and no file is made: %s', async (...row) => {
    const [, status, body] = row;
    await setBundle();
    const saved = await newPath();
    const headers = { 'content-type': 'application/json' };
    simulator.fault({ kind: 'status', status, headers, body, api: 'cloud' });
    expect((await cloud('ca-cert', 'delete', '--yes', '--save', saved)).code).toBe(1);
    expect(writes()).toEqual([]);
    await expect(readFile(saved)).rejects.toThrow('ENOENT');
  });

  test('is not deleted when it would be saved in a folder that does not exist', async () => {
    await setBundle();
    const saved = `${await newPath()}/x.pem`;
    const { code, err } = await cloud('ca-cert', 'delete', '--yes', '--save', saved);
    expect(code).toBe(1);
    expect(err).toContain(`cannot write ${saved}: there is no such folder; nothing was deleted`);
    expect(writes()).toEqual([]);
  });

  test.each([
    [
      'a file that cannot grow',
      (file: string) => `ulimit -f 0; exec "$@" --save ${file}`,
      'cannot write ',
    ],
    [
      'a full standard output',
      () => 'exec "$@" > /dev/full',
      'could not be printed: nothing was deleted',
    ],
  ] as const)(
    'is not deleted when it goes to %s',
    { timeout: PROCESS_TIMEOUT_MS },
    async (_what, script, message) => {
      await setBundle();
      const saved = await newPath();
      const command = [process.execPath, PROGRAM, 'cloud', 'ca-cert', 'delete', '--yes', config];
      const { code, err } = await startProgram('sh', ['-c', script(saved), 'sh', ...command]).ended;
      expect(code).toBe(1);
      expect(err).toContain(message);
      expect(err).toContain('nothing was deleted');
      expect(writes()).toEqual([]);
      await expect(readFile(saved)).rejects.toThrow('ENOENT');
    },
  );

  test('is sent without what else the file holds', async () => {
    const file = await writeTemporary('ca.pem', `subject=CN = ca\n${PEM}password: hunter2\n${PEM}`);
    expect((await cloud('ca-cert', 'set', file, '--yes')).code).toBe(0);
    expect((await cloud('ca-cert', 'get')).out).toBe(PEM + PEM);
  });

  test.each(['PRIVATE KEY', 'RSA PRIVATE KEY', 'ENCRYPTED PRIVATE KEY'])(
    'is not sent from a file with a %s',
    async (kind) => {
      const key = `-----BEGIN ${kind}-----\nc2VjcmV0\n-----END ${kind}-----\n`;
      const file = await writeTemporary('both.pem', key + PEM);
      const { code, err } = await cloud('ca-cert', 'set', file, '--yes');
      expect(code).toBe(2);
      expect(err).toContain(`${file} holds a private key`);
      expect(err).toContain('name a file with the certificates alone');
      expect(calls()).toEqual([]);
    },
  );

  test.each([
    ['half a certificate', `${PEM}${PEM.slice(0, 40)}`, 'holds an incomplete certificate'],
    ['no PEM', 'nonsense', 'holds no certificate: it must be PEM'],
  ])('is not sent from a file with %s', async (_what, text, message) => {
    const { code, err } = await cloud('ca-cert', 'set', await writeTemporary('a', text), '--yes');
    expect(code).toBe(2);
    expect(err).toContain(message);
    expect(calls()).toEqual([]);
  });
});

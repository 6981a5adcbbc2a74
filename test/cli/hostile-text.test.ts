import { describe, expect, onTestFinished, test } from 'vitest';
import { type Simulator, startSimulator } from '../../simulator/index.ts';
import { serve } from '../support/http-server.ts';
import { configFlag, runHere } from './run.ts';

/** Title and colour by C0 and C1, text from right to left, a line separator, a tag beyond the first plane, a new line. */
const HOSTILE =
  '\u001B]0;x\u0007\u009B31m\u007F\u202Eevil\u2066\u2028\u{E0041}\nok\u00AD\\u0041 é😀';
// oxlint-disable-next-line no-control-regex -- what terminals obey
const OBEYED = /[\u0000-\u0009\u000B-\u001F\u007F-\u009F\p{Cf}\p{Zl}\p{Zp}]/u;

/** A cluster whose users have such a name. */
async function flagOfCluster(): Promise<string> {
  const server = await serve((_request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ users: [{ username: HOSTILE }] }));
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  return `--cluster.url=${server.url}`;
}

/** A simulated Cloud whose next answer is this. */
async function answering(status: number, body: object): Promise<string> {
  const simulator: Simulator = await startSimulator({ nodes: 3, ranges: 12, sessions: 4 });
  onTestFinished(() => simulator.close());
  simulator.fault({ kind: 'status', status, body: JSON.stringify(body), api: 'cloud', times: 1 });
  return configFlag(simulator);
}

/** Standard output counts as a terminal until this is disposed of. */
function beTerminal(): Disposable {
  const { isTTY } = process.stdout;
  process.stdout.isTTY = true;
  return { [Symbol.dispose]: () => void (process.stdout.isTTY = isTTY) };
}

describe('what a server writes cannot steer the terminal', () => {
  test.each(['json', 'ndjson'])('as %s, and a decoder reads the very text', async (format) => {
    const { code, out } = await runHere(['users', '--output', format, await flagOfCluster()]);
    expect(code).toBe(0);
    expect(out).not.toMatch(OBEYED);
    const decoded: unknown = JSON.parse(out);
    const user = { username: HOSTILE };
    expect(decoded).toEqual(format === 'json' ? { users: [user] } : user);
  });

  test('in the table', async () => {
    const { out } = await runHere(['users', await flagOfCluster()]);
    expect(out).toContain('evil');
    expect(out).not.toMatch(OBEYED);
  });

  test('in the problems of a range', async () => {
    const replica = {
      desc: { range_id: 7 },
      span: { start_key: '/Table/106/1', end_key: '/Table/106/2' },
      source_node_id: 1,
      source_store_id: 1,
      problems: { [HOSTILE]: true },
    };
    await using server = await serve(({ url = '' }, response) => {
      response.setHeader('content-type', 'application/json');
      const nodes = [{ node_id: 1, liveness_status: 3 }];
      response.end(JSON.stringify(url.includes('/ranges/') ? { ranges: [replica] } : { nodes }));
    });
    const { out } = await runHere(['range', '7', `--cluster.url=${server.url}`]);
    expect(out).toMatch(/^\S*evil.*: reports a problem|^.*evil.*\. .*$/m);
    expect(out.split('\n').filter((line) => line.includes('evil'))).not.toEqual([]);
    expect(out).not.toMatch(OBEYED);
    expect(out).not.toMatch(/^ok/m);
  });

  test('in the error of a Cloud request', async () => {
    const config = await answering(400, { code: HOSTILE, message: HOSTILE });
    const { err } = await runHere(['cloud', 'assistant', 'get', config]);
    expect(err).toContain('evil');
    expect(err).toMatch(/^[^\n]+\n$/);
    expect(err).not.toMatch(OBEYED);
  });

  test('in the metrics of a probe', async () => {
    await using server = await serve((_request, response) => {
      response.setHeader('content-type', 'application/json');
      const nodes = [{ node_id: 1, liveness_status: 3, build_tag: HOSTILE }];
      response.end(JSON.stringify({ nodes }));
    });
    const args = ['probe', `--cluster.url=${server.url}`];
    const { out } = await runHere(args);
    expect(out).toContain('\uFFFDevil');
    using _terminal = beTerminal();
    const shown = await runHere(args);
    expect(shown.out).toContain('\uFFFDevil');
    expect(shown.out).not.toMatch(OBEYED);
  });

  test('in the bundle of CAs on a terminal; a pipe gets the very bytes', async () => {
    const bundle = { x509_pem_cert: `${HOSTILE}\r\n` };
    const { out } = await runHere(['cloud', 'ca-cert', 'get', await answering(200, bundle)]);
    expect(out).toBe(bundle.x509_pem_cert);
    using _terminal = beTerminal();
    const shown = await runHere(['cloud', 'ca-cert', 'get', await answering(200, bundle)]);
    expect(shown.out).toContain('evil');
    expect(shown.out).not.toMatch(OBEYED);
  });
});

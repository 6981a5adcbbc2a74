import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Simulator, startSimulator } from '../../simulator/index.ts';
import { createAuthority } from '../support/certificates.ts';
import { serveTls } from '../support/https-server.ts';
import { PROCESS_TIMEOUT_MS, run, writeTemporary } from './run.ts';

let simulator: Simulator;
let identity: { readonly cert: string; readonly key: string };
let own: string;
let other: string;

beforeAll(async () => {
  const authority = await createAuthority();
  identity = await authority.issue({ name: 'crdb', sans: ['ip:127.0.0.1'] });
  own = await writeTemporary('own.crt', authority.cert);
  other = await writeTemporary('other.crt', (await createAuthority('other CA')).cert);
  simulator = await startSimulator({ nodes: 3, ranges: 12, insecure: true, tls: identity });
});

afterAll(() => simulator.close());

const UNKNOWN = 'the certificate is signed by an unknown CA: set cluster_api.tls.ca_file';

test(
  'the certificates of the operating system are trusted',
  { timeout: PROCESS_TIMEOUT_MS },
  async () => {
    const args = ['nodes', `--cluster.url=${simulator.clusterUrl}`];
    const without = await run(args);
    expect(without).toMatchObject({ code: 1, out: '', err: expect.stringContaining(UNKNOWN) });
    const trusting = await run(args, { SSL_CERT_FILE: own });
    expect(trusting).toMatchObject({ code: 0, err: '' });
    expect(trusting.out).toContain('live');
  },
);

test('ca_file replaces them', { timeout: PROCESS_TIMEOUT_MS }, async () => {
  const args = ['nodes', `--cluster.url=${simulator.clusterUrl}`, `--cluster.ca-file=${other}`];
  const refused = await run(args, { SSL_CERT_FILE: own });
  expect(refused).toMatchObject({
    code: 1,
    err: expect.stringContaining('signed by another CA than those of cluster_api.tls.ca_file'),
  });
});

test('they are trusted for a proxy, too', { timeout: PROCESS_TIMEOUT_MS }, async () => {
  await using proxy = await serveTls(identity, (_, response) => response.writeHead(504).end());
  const args = ['nodes', '--cluster.url=http://crdb.example:8080'];
  const without = await run(args, { http_proxy: proxy.url });
  expect(without.err).toMatch(
    /the proxy cannot be reached: unable to verify the first certificate;/,
  );
  const trusting = await run(args, { http_proxy: proxy.url, SSL_CERT_FILE: own });
  expect(trusting.err).toContain('nodes at crdb.example:8080: HTTP 504');
});

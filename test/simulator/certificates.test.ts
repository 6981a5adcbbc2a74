import { X509Certificate } from 'node:crypto';
import { get } from 'node:https';
import { expect, it } from 'vitest';
import { createServerIdentity, startSimulator } from '../../simulator/index.ts';

const HOSTS = ['localhost', '127.0.0.1', '::1', 'db.example.internal', '2001:db8::7:1'];

it('are for the given names and addresses, signed by a CA of their own', () => {
  const { ca, cert, key } = createServerIdentity(HOSTS);
  const [authority, server] = [new X509Certificate(ca), new X509Certificate(cert)];
  expect([authority.ca, server.ca]).toEqual([true, false]);
  expect(server.checkIssued(authority)).toBe(true);
  expect(server.verify(authority.publicKey)).toBe(true);
  for (const host of ['localhost', 'db.example.internal'])
    expect(server.checkHost(host)).toBe(host);
  for (const address of ['127.0.0.1', '::1', '2001:db8::7:1'])
    expect(server.checkIP(address)).toBe(address);
  expect([server.checkHost('example.com'), server.checkIP('127.0.0.2')]).toEqual([
    undefined,
    undefined,
  ]);
  expect(key).toContain('PRIVATE KEY');
});

it('are new each time, and valid for a month', () => {
  const nowMs = Date.UTC(2026, 0, 2);
  const [first, second] = [1, 2].map(
    () => new X509Certificate(createServerIdentity(HOSTS, nowMs).cert),
  );
  expect(first?.serialNumber).not.toBe(second?.serialNumber);
  expect([first?.validFrom, first?.validTo]).toEqual([
    'Jan  1 00:00:00 2026 GMT',
    'Feb  1 00:00:00 2026 GMT',
  ]);
});

it('are accepted by a client that trusts the CA, and by no other', async () => {
  const { ca, ...tls } = createServerIdentity(['127.0.0.1']);
  await using simulator = await startSimulator({ tls, nodes: 3, metricKeys: 'useful' });
  const statusOf = (trusted: string | undefined) =>
    new Promise<number | undefined>((resolve, reject) => {
      get(`${simulator.clusterUrl}/health`, { ca: trusted, agent: false }, (response) => {
        response.resume();
        resolve(response.statusCode);
      }).on('error', reject);
    });
  expect(await statusOf(ca)).toBe(200);
  await expect(statusOf(createServerIdentity(['127.0.0.1']).ca)).rejects.toThrow('verify');
});

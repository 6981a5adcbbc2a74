import { existsSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { makeFolder } from '../../config/folder.ts';
import { fetchPath } from '../routes/fetch-path.ts';
import { COLLECTORS, SLEEPER, startOrchard, startPolledOrchard } from '../routes/orchard.ts';

describe('listening', () => {
  test('serves the same on several addresses: IPv4, IPv6 and a unix socket', async () => {
    const socket = path.join(await makeFolder(), 'exporter.sock');
    const { app } = await startOrchard({
      flags: { 'web.listen-address': ['127.0.0.1:0', '[::1]:0', `unix:${socket}`] },
    });
    expect(app.addresses).toEqual([
      expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      expect.stringMatching(/^http:\/\/\[::1\]:\d+$/),
      `unix:${socket}`,
    ]);
    for (const address of app.addresses) {
      expect((await fetchPath(address, '/-/healthy')).status).toBe(200);
    }
    await app.stop();
    expect(existsSync(socket)).toBe(false);
  });

  test('shows localhost for all interfaces', async () => {
    const { app } = await startOrchard({ flags: { 'web.listen-address': [':0'] } });
    expect(app.addresses).toEqual([expect.stringMatching(/^http:\/\/localhost:\d+$/)]);
  });

  test('fails as a whole when one port is in use, and releases the others', async () => {
    const first = await startOrchard();
    const { port } = new URL(first.url);
    const second = startOrchard({
      flags: { 'web.listen-address': ['127.0.0.1:0', `127.0.0.1:${port}`] },
    });
    await expect(second).rejects.toMatchObject({ code: 'EADDRINUSE', syscall: 'listen' });
    await first.app.stop();
    const third = await startOrchard({ flags: { 'web.listen-address': [`127.0.0.1:${port}`] } });
    expect((await fetchPath(third.url, '/-/healthy')).status).toBe(200);
  });
});

describe('paths and methods', () => {
  test.each(['/nothing', '/metrics/', '/Metrics', '/-/', '/-/reload/x', '/../etc/passwd', '/%'])(
    '%s is not found, and nothing of the request is repeated',
    async (target) => {
      const { url } = await startOrchard();
      const answer = await fetchPath(url, `${target}?marker`);
      expect(answer.status).toBe(404);
      expect(answer.text).toBe('not found; the status page is at /\n');
      expect(answer.headers['content-type']).toBe('text/plain; charset=utf-8');
      expect(answer.headers['x-content-type-options']).toBe('nosniff');
    },
  );

  test.each(['/', '/metrics', '/-/healthy', '/-/ready'])('%s is read-only', async (target) => {
    const { url } = await startOrchard();
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE']) {
      const answer = await fetchPath(url, target, { method });
      expect(answer.status).toBe(405);
      expect(answer.headers['allow']).toBe('GET, HEAD');
      expect(answer.text).toBe('method not allowed\n');
      expect(answer.headers['x-content-type-options']).toBe('nosniff');
    }
    expect((await fetchPath(url, target, { method: 'HEAD' })).body.length).toBe(0);
  });
});

describe('/-/healthy and /-/ready', () => {
  test('it is healthy at once, and ready when every collector has been polled', async () => {
    const { url } = await startPolledOrchard();
    const healthy = await fetchPath(url, '/-/healthy');
    expect([healthy.status, healthy.text]).toEqual([200, 'crdb-exporter is healthy\n']);
    const ready = await fetchPath(url, '/-/ready');
    expect([ready.status, ready.text]).toEqual([200, 'crdb-exporter is ready\n']);
  });

  test('it is not ready while a first poll runs', async () => {
    const { url } = await startOrchard({ collectors: [...COLLECTORS, SLEEPER] });
    const ready = await fetchPath(url, '/-/ready');
    expect([ready.status, ready.text]).toEqual([503, 'first polls are still running\n']);
    expect((await fetchPath(url, '/-/healthy')).status).toBe(200);
  });

  test('it is ready after a minute in any case', async () => {
    let nowMs = 0;
    const clock = { wallMs: () => nowMs, monotonicMs: () => nowMs, runningMs: () => nowMs };
    const { url } = await startOrchard({ collectors: [SLEEPER], app: { clock } });
    expect((await fetchPath(url, '/-/ready')).status).toBe(503);
    nowMs = 60_001;
    expect((await fetchPath(url, '/-/ready')).status).toBe(200);
  });
});

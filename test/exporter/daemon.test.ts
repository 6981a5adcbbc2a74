import { describe, expect, test } from 'vitest';
import { startSimulator } from '../../simulator/index.ts';
import { createAuthority } from '../support/certificates.ts';
import { clusterYaml, startTestExporter } from '../support/exporter.ts';
import { freePort } from '../support/http-server.ts';
import { fetchPath } from './routes/fetch-path.ts';
import { startOrchard } from './routes/orchard.ts';

const ALONE = { companion: undefined };

describe('the daemon without a status page', () => {
  test('polls, serves what Prometheus asks for, reloads, and has no page', async () => {
    await using simulator = await startSimulator({ nodes: 3, ranges: 20, sessions: 3 });
    await using exporter = await startTestExporter({
      yaml: `clusters:\n${clusterYaml(simulator)}`,
      app: ALONE,
    });
    const seen = await exporter.until(
      (scrape) => scrape.value('crdb_ranges_unverified') !== undefined,
    );
    expect(seen.value('crdb_up', { api: 'cluster' })).toBe(1);
    for (const path of ['/probe?cluster=sim', '/sd/nodes', '/sd/clusters', '/-/healthy']) {
      expect((await exporter.get(path)).status, path).toBe(200);
    }
    for (const path of ['/', '/api/status', '/config', '/runbooks/']) {
      expect((await exporter.get(path)).status, path).toBe(404);
    }
    expect((await exporter.app.reload()).error).toBeUndefined();
  });

  test('logs when polls fail and when they succeed again', async () => {
    const port = await freePort();
    await using exporter = await startTestExporter({
      yaml: `clusters:\n  - { name: gone, cluster_api: { urls: ["http://127.0.0.1:${port}"] } }\n`,
      intervalSeconds: 0.05,
      app: ALONE,
    });
    await exporter.until(() => /level=warn .* (?:is|are) failing/.test(exporter.log()));
    await using _simulator = await startSimulator({
      listen: { host: '127.0.0.1', port },
      nodes: 1,
      ranges: 3,
      sessions: 0,
      insecure: true,
    });
    const recovered = /level=info msg="recovered after [^"]*(?:is|are) failing/;
    await exporter.until(() => recovered.test(exporter.log()));
    expect(exporter.log()).toMatch(recovered);
  });

  test('serves TLS', async () => {
    const authority = await createAuthority();
    const { cert, key } = await authority.issue({ name: 'exporter', sans: ['ip:127.0.0.1'] });
    const { url } = await startOrchard({
      webConfig: 'tls_server_config: { cert_file: server.crt, key_file: server.key }\n',
      files: { 'server.crt': cert, 'server.key': key },
      app: ALONE,
    });
    const { status } = await fetchPath(url, '/metrics', { tls: { ca: authority.cert } });
    expect([url.startsWith('https:'), status]).toEqual([true, 200]);
  });
});

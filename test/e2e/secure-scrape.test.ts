import path from 'node:path';
import { hashSync } from 'bcryptjs';
import { describe, expect, test } from 'vitest';
import { makeFolder } from '../config/folder.ts';
import { startPolledOrchard } from '../exporter/routes/orchard.ts';
import { createAuthority } from '../support/certificates.ts';
import { hasProgram } from '../support/programs.ts';
import { eventually, startPrometheus } from '../support/prometheus.ts';

const PASSWORD = 'p:ä "ß\\';

describe.skipIf(!hasProgram('prometheus'))('a real Prometheus', () => {
  test('scrapes over TLS only with a client certificate and a password', async () => {
    const authority = await createAuthority();
    const server = await authority.issue({ name: 'exporter', sans: ['ip:127.0.0.1'] });
    const client = await authority.issue({
      name: 'prometheus',
      usage: 'client',
      sans: ['dns:prometheus.example'],
    });
    const exporter = await startPolledOrchard({
      webConfig: `tls_server_config:
  cert_file: server.crt
  key_file: server.key
  client_auth_type: RequireAndVerifyClientCert
  client_ca_file: ca.crt
  client_allowed_sans: [prometheus.example]
  min_version: TLS13
http_server_config: { headers: { Strict-Transport-Security: max-age=1 } }
basic_auth_users: { prometheus: "${hashSync(PASSWORD, 6)}" }
rate_limit: { interval: 10ms, burst: 100 }
`,
      files: { 'server.crt': server.cert, 'server.key': server.key, 'ca.crt': authority.cert },
      request: { tls: { ca: authority.cert, ...client } },
    });
    const folder = await makeFolder({
      'ca.crt': authority.cert,
      'client.crt': client.cert,
      'client.key': client.key,
      password: PASSWORD,
    });
    const file = (name: string): string => JSON.stringify(path.join(folder, name));
    const certificate = `cert_file: ${file('client.crt')}, key_file: ${file('client.key')}`;
    const password = `basic_auth: { username: prometheus, password_file: ${file('password')} }`;
    const job = (name: string, settings: string): string => `  - job_name: ${name}
    scheme: https
    ${settings}
    static_configs: [{ targets: ["${new URL(exporter.url).host}"] }]
`;
    await using prometheus = await startPrometheus(
      `global: { scrape_interval: 1s, scrape_timeout: 1s }\nscrape_configs:\n${[
        job('good', `tls_config: { ca_file: ${file('ca.crt')}, ${certificate} }\n    ${password}`),
        job('no_password', `tls_config: { ca_file: ${file('ca.crt')}, ${certificate} }`),
        job('no_certificate', `tls_config: { ca_file: ${file('ca.crt')} }\n    ${password}`),
        job('no_ca', `tls_config: { ${certificate} }\n    ${password}`),
      ].join('')}`,
    );
    const up = await eventually(async () => {
      const series = await prometheus.query('max_over_time(up[5m])');
      const scraped = await prometheus.query('count_over_time(up[5m]) > 3');
      const isGood = series.some(({ value }) => value === 1);
      return isGood && scraped.length === 4 ? series : undefined;
    });
    const byJob = Object.fromEntries(up.map(({ labels, value }) => [labels['job'], value]));
    expect(byJob).toEqual({ good: 1, no_password: 0, no_certificate: 0, no_ca: 0 });
    expect(
      await prometheus.query('last_over_time(crdb_apples_bytes{tree="tree 7"}[5m])'),
    ).toHaveLength(1);
    const targets = await prometheus.api<{
      readonly activeTargets: readonly {
        readonly scrapePool: string;
        readonly lastError: string;
      }[];
    }>('/api/v1/targets');
    const errors = new Map(targets.activeTargets.map((one) => [one.scrapePool, one.lastError]));
    expect(errors.get('no_password')).toContain('401 Unauthorized');
  });
});

import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { COLLECTORS } from '../../src/collectors/all-collectors.ts';
import { describeConfig } from '../../src/config/keys-and-flags.ts';
import { CLUSTER } from './bad-file.ts';
import { loadText } from './loading.ts';
import { FILES } from './web-files.ts';

/** Something else than the default wherever that is possible. */
const RICH = `web: { listen_address: ["127.0.0.1:1", "[::1]:2", "unix:/tmp/s"], telemetry_path: /m, enable_lifecycle: true, max_requests: 7, max_probes: 3, protect_probes: true }
log: { level: warn, format: json }
shard: { index: 1, count: 3, name: east-1 }
config: { auto_reload: true }
clusters:
  - name: prod
    poll: false
    cluster_api:
      urls: ["https://crdb-1:8080", "https://crdb-2:8080"]
      virtual_cluster: main
      tls: { ca_file: ca.crt, server_name: crdb, insecure_skip_verify: true }
      timeout: 90s
      min_rate: 0B
      max_concurrent_requests: 2
      max_response_bytes: 512MiB
      compression: true
    collectors:
      ranges: { interval: 2m, max_duty: 0.05, route: gateway, hot_ranges: 3, max_age: 10m, max_series: 502 }
      sessions: { application_rewrite: [{ regex: "^(psql)-[0-9]+$", replacement: "$1" }] }
      tables: { tables: [movr.public.rides] }
`;

describe('a configuration that is described', () => {
  test.each([
    ['of defaults', CLUSTER],
    ['of other values', RICH],
  ])('%s is the same when its description is read as a file', async (_, yaml) => {
    const { config } = await loadText(yaml, { files: FILES });
    const described = JSON.stringify(describeConfig(config, COLLECTORS));
    const { config: again } = await loadText(described, { files: FILES });
    expect(again).toEqual(config);
  });

  test('gives every value as it was written', async () => {
    const { config } = await loadText(RICH, { files: FILES });
    const written: object = parse(
      RICH.replace('ca.crt', '/ca.crt').replaceAll('8080"', '8080/api/v2"'),
    );
    const described = JSON.stringify(describeConfig(config, COLLECTORS));
    expect(JSON.parse(described.replace(/"[^"]+\/ca\.crt"/, '"/ca.crt"'))).toMatchObject(written);
  });

  test('names the proxies of the environment beside it, without their passwords', async () => {
    const env = { https_proxy: 'http://user:hunter2@proxy:3128', no_proxy: 'crdb-2' };
    const { config } = await loadText(RICH, { files: FILES, env });
    const described = describeConfig(config, COLLECTORS);
    expect(described).toMatchObject({
      clusters: [
        { proxy_of_environment: { http: undefined, https: '<secret>', no_proxy: 'crdb-2' } },
      ],
    });
    expect(JSON.stringify(described)).not.toContain('hunter2');
  });
});

import { expect, test } from 'vitest';
import { createLog } from '../../src/base/log.ts';
import { COLLECTORS } from '../../src/collectors/all-collectors.ts';
import type { LoadedConfig } from '../../src/config/load.ts';
import { Exporter } from '../../src/exporter/exporter.ts';
import { createStatus } from '../../src/status/status-routes.ts';
import { PLAIN_FORM } from '../status/command-form.ts';
import { loadText, problemsOf } from './loading.ts';

const BUILD = { version: '0.0.0', revision: 'test', nodeVersion: 'v24.0.0', platform: 'linux/x64' };
const WEB = 'web: { listen_address: ["127.0.0.1:0"] }\n';

function cluster(keys = '', name = 'a', url = 'https://127.0.0.1:9'): string {
  return `${WEB}clusters: [{ name: "${name}", poll: false, cluster_api: { urls: ["${url}"] ${keys} } }]\n`;
}

function cloud(token: string): string {
  return `${WEB}clusters: [{ name: a, poll: false, cloud_api: { cluster_id: "-", token: "${token}" } }]\n`;
}

/** Starts an exporter and asks it for its page and its JSON. */
async function serve({ config }: LoadedConfig): Promise<readonly number[]> {
  const log = createLog({
    level: 'debug',
    format: 'logfmt',
    destination: { write: () => undefined },
  });
  const exporter = await Exporter.start({
    config,
    collectors: COLLECTORS,
    build: BUILD,
    log,
    companion: (daemon) => createStatus(daemon, log, PLAIN_FORM),
  });
  try {
    const [url = ''] = exporter.addresses;
    const pages = ['/', '/api/status', '/config', '/sd/clusters', '/metrics'].map((page) =>
      fetch(url + page).then(({ status }) => status),
    );
    return await Promise.all(pages);
  } finally {
    await exporter.stop();
  }
}

const PATHS = ['a%zz', '\u00fc', '/x', '%00', 'a\\\\b', '../..', 'a%20b', '%0d%0aX'];

test.each([
  ...['__proto__', 'constructor', 'a%b', 'a/b', '\u65e5\u672c'].map((name) => cluster('', name)),
  ...PATHS.map((path) => {
    const url = `https://127.0.0.1:9/${path}`;
    const links = `links: { runbook_url: "${url}", dashboard_url: "${url}" }\n`;
    return `${links}${cluster('', 'a', url)}`;
  }),
  cluster(', tls: { server_name: 10.0.0.1 }'),
  cluster(', tls: { server_name: "::1" }'),
  cluster(', tls: { server_name: crdb_1.example. }'),
  cluster(', max_concurrent_requests: 9007199254740991'),
  cluster(', max_response_bytes: 99999999999999TiB, min_rate: 0, timeout: 10d'),
  cloud('a b'),
])('what is accepted can be served: %j', async (yaml) => {
  expect(await serve(await loadText(yaml))).toEqual([200, 200, 200, 200, 200]);
});

const NO_HOST = 'is not the name of a host: write it as crdb.example.org, without a port';
const NO_TOKEN =
  'the token holds characters that no header can carry: copy it again, it is printable ASCII';
const NO_URL = 'is not a valid URL: write it as https://crdb-1:8080';

test.each([
  [cluster(', tls: { server_name: "crdb:8080" }'), NO_HOST],
  [cluster(', tls: { server_name: "a b" }'), NO_HOST],
  [cluster(', tls: { server_name: "b\u00fccher.example" }'), NO_HOST],
  [cluster(', tls: { server_name: "a\\0b" }'), NO_HOST],
  [cluster(`, tls: { server_name: "${'x'.repeat(300)}" }`), NO_HOST],
  [cluster('', 'a', 'https://a%25b'), NO_URL],
  [cluster('', 'a', 'https://a%zzb'), NO_URL],
  [cloud('tok\u65e5en'), NO_TOKEN],
  [cloud('tok\u00e4en'), NO_TOKEN],
  [cloud('\\t'), NO_TOKEN],
  [cluster(', token: "tok\u65e5en"'), NO_TOKEN],
])('what could not be used is refused, without a secret: %j', async (yaml, message) => {
  const [problem] = await problemsOf(loadText(yaml));
  expect(problem).toContain(message);
  expect(problem).not.toContain('tok\u65e5en');
});

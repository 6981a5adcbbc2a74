import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import net from 'node:net';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { COLLECTORS } from '../../src/collectors/index.ts';
import { loadConfig } from '../../src/config/load.ts';
import { CLUSTER } from './bad-file.ts';
import { makeFolder } from './folder.ts';
import { problemsOf } from './loading.ts';
import { FILES } from './web-files.ts';

/** Makes something at a path that is not a small regular file, and what is said of it. */
type Other = readonly [what: string, make: (at: string) => Promise<void> | void, reason: string];
const OTHERS: readonly [Other, ...Other[]] = [
  [
    'a named pipe',
    (at) => void execFileSync('mkfifo', [at]),
    'it is a named pipe: name a regular file',
  ],
  ['a link to a device', (at) => symlink('/dev/zero', at), 'it is a device: name a regular file'],
  ['a socket', listenAt, 'it is a socket: name a regular file'],
  ['a directory', (at) => mkdir(at), 'it is a directory'],
  [
    'a file that is too large',
    (at) => writeFile(at, Buffer.alloc(1024 * 1024 + 1, '#')),
    'it is larger than 1 MiB: is it the right file?',
  ],
];

const WEB_TLS = 'tls_server_config: { cert_file: good.crt, key_file: good.key }\n';
const TLS = `${CLUSTER}      tls: { ca_file: ca.crt, cert_file: good.crt, key_file: good.key }\n`;

/** A configuration, the file of it that is something else, and the problem that begins with its place. */
type Use = readonly [what: string, yaml: string, file: string, problem: string];
const USES: readonly [Use, Use, ...Use[]] = [
  [
    'a configuration',
    CLUSTER,
    'exporter.yml',
    'exporter.yml: cannot read the configuration file: ',
  ],
  [
    'a secret',
    `${CLUSTER}      token_file: token\n`,
    'token',
    'exporter.yml:5:19: clusters[0].cluster_api.token_file: cannot read the secret file token: ',
  ],
  [
    'a web config',
    `${CLUSTER}web: { config_file: web.yml }\n`,
    'web.yml',
    'web.yml: cannot read the web config file: ',
  ],
  [
    'a certificate of the server',
    `${CLUSTER}web: { config_file: web.yml }\n`,
    'good.crt',
    'web.yml:1:33: tls_server_config.cert_file: cannot read the file good.crt: ',
  ],
  [
    'the CA of a cluster',
    TLS,
    'ca.crt',
    'exporter.yml:5:23: clusters[0].cluster_api.tls.ca_file: cannot read the file ca.crt: ',
  ],
  [
    'a client key',
    TLS,
    'good.key',
    'exporter.yml:5:62: clusters[0].cluster_api.tls.key_file: cannot read the file good.key: ',
  ],
];

test.each([
  ...OTHERS.map((other) => [...USES[1], ...other] as const),
  ...USES.map((use) => [...use, ...OTHERS[0]] as const),
])(
  'for %s (%j, %s, %s) %s is refused at once',
  async (_what, yaml, file, problem, _other, make, reason) => {
    const files = { ...FILES, 'exporter.yml': yaml, 'web.yml': WEB_TLS, token: 'a' };
    const kept = Object.entries(files).filter(([name]) => name !== file);
    const folder = await makeFolder(Object.fromEntries(kept));
    await make(path.join(folder, file));
    const config = path.join(folder, 'exporter.yml');
    const loading = loadConfig({
      flags: { 'config.file': config },
      env: {},
      collectors: COLLECTORS,
    });
    expect(await problemsOf(loading)).toEqual([`${problem}${reason}`]);
  },
);

async function listenAt(at: string): Promise<void> {
  const server = net.createServer().listen(at);
  onTestFinished(() => void server.close());
  await once(server, 'listening');
}

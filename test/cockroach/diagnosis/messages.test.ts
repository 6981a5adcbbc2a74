import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createServer as createTlsServer, type SecureVersion } from 'node:tls';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { startSimulator } from '../../../simulator/index.ts';
import { createAuthority } from '../../support/certificates.ts';
import { onlyCollectors } from '../../support/collectors.ts';
import { startTestExporter, type TestExporter } from '../../support/exporter.ts';
import { refusing } from '../../support/http-server.ts';
import { serveTls } from '../../support/https-server.ts';

const TABLE = readFileSync(path.join(import.meta.dirname, '../../golden/messages.md'), 'utf8');
const SMALL = {
  nodes: 3,
  ranges: 12,
  sessions: 8,
  metricKeys: 'useful',
  faultyNodes: false,
} as const;
const FOLDER = mkdtempSync(path.join(tmpdir(), 'crdb-exporter-troubleshooting-'));
afterAll(() => rmSync(FOLDER, { recursive: true }));

const authority = await createAuthority();
const identity = await authority.issue({ name: 'crdb', sans: ['ip:127.0.0.1'] });
const CA = writeFile('ca.crt', authority.cert);
const OTHER_CA = writeFile('other.crt', (await createAuthority('other CA')).cert);

function writeFile(name: string, text: string): string {
  const file = path.join(FOLDER, name);
  writeFileSync(file, text);
  return file;
}

/** Starts a server until the end of the test; returns the members of `cluster_api` for it. */
type Situation = () => Promise<string>;

async function simulate(
  login: string,
  options: Parameters<typeof startSimulator>[0] = {},
): Promise<string> {
  const simulator = await startSimulator({ ...SMALL, ...options });
  onTestFinished(() => simulator.close());
  return `urls: ["${simulator.clusterUrl}"], ${login}`;
}

async function listen(server: ReturnType<typeof createServer>, scheme: string): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  return `urls: ["${scheme}://127.0.0.1:${typeof address === 'object' ? address?.port : ''}"]`;
}

async function demandCertificate(maxVersion: SecureVersion): Promise<string> {
  const demand = { ca: authority.cert, requestCert: true, rejectUnauthorized: true, maxVersion };
  const server = await serveTls({ ...identity, ...demand });
  onTestFinished(() => server[Symbol.asyncDispose]());
  return `urls: ["${server.url}"], tls: { ca_file: "${CA}" }`;
}

const LOGIN = 'username: exporter, password: exporter-demo';

const BLOCKED = 'all URLs down, at later polls';
const OWN_SESSIONS = 'privilege for own sessions only';

/** The rows of the table, and what causes their messages. */
const SITUATIONS: Readonly<Record<string, Situation>> = {
  'wrong password': () => simulate('username: exporter, password: wrong'),
  'no login for a secure cluster': () => simulate('timeout: 5s'),
  'missing privilege': () => simulate('username: plain, password: plain-demo'),
  [OWN_SESSIONS]: () => simulate('username: watcher, password: watcher-demo'),
  'no `ca_file` for a CA of its own': () => simulate(LOGIN, { tls: identity }),
  'wrong `ca_file`': () => simulate(`${LOGIN}, tls: { ca_file: "${OTHER_CA}" }`, { tls: identity }),
  'client certificate demanded, TLS 1.2': () => demandCertificate('TLSv1.2'),
  'client certificate demanded, TLS 1.3': () => demandCertificate('TLSv1.3'),
  'https:// for http://': async () => (await simulate('timeout: 5s')).replace('http:', 'https:'),
  'http:// for https://': async () =>
    (await simulate('timeout: 5s', { tls: identity })).replace('https:', 'http:'),
  'SQL port of a secure cluster': () =>
    listen(createTlsServer({ ...identity, ALPNProtocols: ['h2'] }), 'https'),
  'SQL port of an insecure cluster': () =>
    listen(
      createServer((socket) => {
        socket.on('error', () => undefined);
        socket.once('data', () => socket.end());
      }),
      'http',
    ),
  'nothing listens': async () => `urls: ["${await refusing()}"]`,
  [BLOCKED]: async () => `urls: ["${await refusing()}"]`,
  'one of several URLs is down': async () => {
    const dead = await refusing();
    return (await simulate(LOGIN)).replace('urls: [', `urls: ["${dead}", `);
  },
};

/** Message and hint of the first warning in the log, or of the first line whose message begins so. */
async function findLine(exporter: TestExporter, start = ''): Promise<readonly [string, string]> {
  const level = start === '' ? 'warn' : '\\w+';
  const rest = String.raw`(?:[^"\\]|\\.)*"`;
  const warning = new RegExp(`level=${level} msg=("${start}${rest}).* hint=("${rest})`);
  await exporter.until(() => warning.test(exporter.log()));
  const [, message = '""', hint = '""'] = warning.exec(exporter.log()) ?? [];
  return [String(JSON.parse(message)), String(JSON.parse(hint))];
}

/** What differs from run to run. */
function normalize(text: string): string {
  return (
    text
      .replaceAll(/127\.0\.0\.1:\d+/g, 'crdb-1:8080')
      .replaceAll(/\bin \d+ s\b/g, 'in 27 s')
      // What the end of a connection looks like is a matter of timing.
      .replaceAll(/(?:read|write) (?:ECONNRESET|EPIPE)/g, 'other side closed (UND_ERR_SOCKET)')
      .replaceAll(/count \d+/g, 'count 42')
      // Either collector may have polled last.
      .replace(/failure was: \w+ at/, 'failure was: nodes at')
      // On a busy machine the URL has been tried again before the first poll ended.
      .replace(/The next login is at \S+ \S+ UTC,/, 'The next login is at TIME,')
      .replace(/others are used: \w+ at/, 'others are used: login at')
  );
}

/** The rows of the table of messages. */
function listRows(): ReadonlyMap<string, readonly string[]> {
  const lines = TABLE.split('\n').filter((line) => line.startsWith('|'));
  const cells = lines.slice(2).map((line) =>
    line
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
  return new Map(cells.map(([situation = '', ...texts]) => [situation, texts]));
}

describe('the log', () => {
  test('has messages for these situations', () => {
    expect([...listRows().keys()]).toEqual(Object.keys(SITUATIONS));
  });

  test.each(Object.entries(SITUATIONS))(
    'has the message and hint of test/golden/messages.md: %s',
    async (name, prepare) => {
      // One collector, so that it is the first to fail; a second one polls while the breakers of the first are open.
      const others = name === OWN_SESSIONS || name === BLOCKED ? { sessions: {} } : {};
      const yaml = `${onlyCollectors({ nodes: {}, ...others })}clusters: [{ name: sim, cluster_api: { ${await prepare()} } }]\n`;
      await using exporter = await startTestExporter({ yaml, intervalSeconds: 0.2 });
      const found = await findLine(exporter, name === BLOCKED ? 'all URLs' : undefined);
      const texts = found.map(normalize);
      const cells = texts.map((text) => text.replaceAll('|', String.raw`\|`));
      expect(
        listRows().get(name),
        `the row should be: | ${[name, ...cells].join(' | ')} |`,
      ).toEqual(cells);
    },
  );
});

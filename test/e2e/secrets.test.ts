import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { hashSync } from 'bcryptjs';
import { describe, expect, onTestFinished, test } from 'vitest';
import { runHere } from '../cli/run.ts';
import { makeFolder } from '../config/folder.ts';
import { fetchPath, type ReceivedResponse } from '../exporter/routes/fetch-path.ts';
import { createAuthority } from '../support/certificates.ts';
import { serve } from '../support/http-server.ts';
import { PROGRAM } from '../support/program.ts';
import { eventually } from '../support/prometheus.ts';

/** Part of every secret. */
const MARKER = 'M4rk3r';
const WEB_PASSWORD = `${MARKER}-web-password`;
const AUTHORIZATION = `Basic ${Buffer.from(`ops:${WEB_PASSWORD}`).toString('base64')}`;

const PATHS =
  '/ /metrics /config /api/status /sd/nodes /sd/clusters /-/healthy /-/ready /nothing /probe?cluster=literal /probe?cluster=nobody /%'.split(
    ' ',
  );

interface Program {
  readonly child: ChildProcess;
  /** Everything it has written so far. */
  readonly said: () => string;
  readonly ended: Promise<unknown>;
}

/** Runs the program until the test has ended. */
function run(args: readonly string[], env: Readonly<Record<string, string>> = {}): Program {
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
  }
  const ended = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  return { child, said: () => said, ended };
}

/** A cluster that accepts every login and repeats every secret it receives in its responses. */
function serveEcho() {
  return serve((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      if (request.url?.startsWith('/api/v2/login/') && body.includes('password-file')) {
        response.end(JSON.stringify({ session: `${MARKER}-session` }));
        return;
      }
      const status = request.url?.includes('sessions') === true ? 500 : 401;
      response.writeHead(status, { 'x-echo': `${MARKER}-echo`, 'set-cookie': `${MARKER}-cookie` });
      response.end(JSON.stringify({ error: body, headers: request.headers }));
    });
  });
}

/** A configuration with every kind of secret, each for its own cluster. */
async function writeSecrets(api: string): Promise<string> {
  const authority = await createAuthority();
  const pair = await authority.issue({ name: 'exporter', sans: ['ip:127.0.0.1'] });
  const cluster = (name: string, secret: string, login = ''): string =>
    `  - name: ${name}\n    cluster_api: { urls: ["${api}"], ${login} ${secret} }\n`;
  const cloud = (name: string, secret: string): string =>
    `  - name: ${name}\n    cloud_api: { url: "${api}", cluster_id: some-id, ${secret} }\n`;
  const user = 'username: ops,';
  return makeFolder({
    password: `${MARKER}-password-file\n`,
    token: `${MARKER}-token-file`,
    'server.key': pair.key,
    'client.crt': pair.cert,
    'web.yml': `tls_server_config:
  key_file: server.key
  cert: |
    ${pair.cert.trim().replaceAll('\n', '\n    ')}
basic_auth_users: { ops: "${hashSync(WEB_PASSWORD, 4)}" }
`,
    'exporter.yml': `web: { listen_address: ["127.0.0.1:0"], config_file: web.yml }
collectors: { nodes: { interval: 1s }, sessions: { interval: 1s }, cloud: { interval: 1s } }
clusters:
${cluster('literal', `password: ${MARKER}-password`, user)}
${cluster('file', 'password_file: password', `${user} tls: { cert_file: client.crt, key_file: server.key },`)}
${cluster('env', 'password_env: PASSWORD', user)}
${cluster('token-literal', `token: ${MARKER}-token`)}
${cluster('token-file', 'token_file: token')}
${cluster('token-env', 'token_env: TOKEN')}
${cloud('cloud-literal', `token: ${MARKER}-cloud-token`)}
${cloud('cloud-file', 'token_file: token')}
${cloud('cloud-env', 'token_env: TOKEN')}
  - name: proxied
    cluster_api: { urls: ["https://crdb.invalid:8080"], username: ops, password: ${MARKER}-proxied }
`,
  });
}

/** The context of each secret found in a text. */
async function findLeaks(folder: string, text: string): Promise<readonly string[]> {
  const key = await readFile(path.join(folder, 'server.key'), 'utf8');
  const hash = /ops: "([^"]+)"/.exec(await readFile(path.join(folder, 'web.yml'), 'utf8'))?.[1];
  const encoded = Buffer.from(`ops:${MARKER}`).toString('base64').slice(0, 12);
  const secrets = [MARKER, encoded, key.split('\n')[1] ?? '', hash ?? ''];
  expect(secrets.every((secret) => secret.length > 5)).toBe(true);
  return secrets.flatMap((secret) => {
    const at = text.indexOf(secret);
    return at === -1 ? [] : [text.slice(Math.max(0, at - 100), at + 40)];
  });
}

describe.each(['logfmt', 'json'])('a debug run with logs as %s', (format) => {
  test('shows no secret in its log, pages, errors or arguments', async () => {
    await using api = await serveEcho();
    const folder = await writeSecrets(api.url);
    const { child, said, ended } = run(
      [`--config.file=${folder}/exporter.yml`, '--log.level=debug', `--log.format=${format}`],
      {
        PASSWORD: `${MARKER}-password-env`,
        TOKEN: `${MARKER}-token-env`,
        HTTPS_PROXY: `http://ops:${MARKER}-proxy@127.0.0.1:9`,
      },
    );
    const url = await eventually(async () => /https:\/\/127\.0\.0\.1:\d+/.exec(said())?.[0]);
    const answers: ReceivedResponse[] = [];
    const tls = { rejectUnauthorized: false };
    const headers = { authorization: AUTHORIZATION, cookie: `${MARKER}-cookie` };
    const collect = async (): Promise<void> => {
      for (const target of PATHS) {
        for (const accept of ['*/*', 'text/html', 'application/openmetrics-text']) {
          answers.push(await fetchPath(url, target, { tls, headers: { ...headers, accept } }));
        }
        answers.push(await fetchPath(url, target, { tls, headers: { authorization: 'Basic x' } }));
      }
    };
    await collect();
    await eventually(async () =>
      failedPolls(said()) > 15 && api.requests.length > 20 ? true : undefined,
    );
    await collect();
    const commandLine = await readCommandLine(child.pid);
    child.kill('SIGTERM');
    await ended;

    const shown = answers.map((answer) => JSON.stringify(answer.headers) + answer.text);
    expect(await findLeaks(folder, shown.join('\n'))).toEqual([]);
    expect(await findLeaks(folder, said())).toEqual([]);
    expect(await findLeaks(folder, commandLine)).toEqual([]);
    // The run is valid: all secrets were sent, and refused.
    expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThan(20);
    expect(said()).toMatch(/(?:reason=|"reason":")auth/);
    expect(api.requests.length).toBeGreaterThan(20);
  });
});

/** The command line of a process, which every user of the machine can read. */
async function readCommandLine(pid = 0): Promise<string> {
  return process.platform === 'linux' ? readFile(`/proc/${pid}/cmdline`, 'utf8') : '';
}

function failedPolls(log: string): number {
  return log.match(/reason/g)?.length ?? 0;
}

describe('command-line errors', () => {
  test.each([
    ['a URL with a password', `urls: ["https://ops:${MARKER}@crdb:8080"]`],
    [
      'a secret of the wrong kind',
      `urls: ["https://crdb:8080"], username: a, password: [${MARKER}]`,
    ],
    ['a secret in the wrong place', `urls: ["https://crdb:8080"], pasword: ${MARKER}`],
    [
      'two secrets',
      `urls: ["https://crdb:8080"], username: a, password: ${MARKER}, token: ${MARKER}`,
    ],
    ['broken YAML', `urls: ["https://crdb:8080"], password: ${MARKER}: x: [`],
  ])('of %s does not repeat it', async (_what, settings) => {
    const yaml = `clusters:\n  - name: a\n    cluster_api: { ${settings} }\n`;
    const folder = await makeFolder({ 'exporter.yml': yaml });
    const { code, out, err } = await runHere(['check', `--config.file=${folder}/exporter.yml`]);
    expect(code).toBe(1);
    expect(out + err).toContain('exporter.yml:3:');
    expect(out + err).not.toContain(MARKER);
  });

  test('of an invalid web config name the line; exit code 2, for check 1', async () => {
    const folder = await makeFolder({ 'web.yml': `basic_auth_users: { ops: ${MARKER} }\n` });
    const flags = ['--cluster.url=http://127.0.0.1:9', `--web.config.file=${folder}/web.yml`];
    for (const [args, code] of [
      [flags, 2],
      [['check', ...flags], 1],
      [['--config.check', ...flags], 1],
    ] as const) {
      const ended = await runHere(args);
      expect(ended.code).toBe(code);
      const said = ended.out + ended.err;
      expect(said).toContain('web.yml:1:26: basic_auth_users.ops: the value is not a bcrypt');
      expect(said).not.toContain(MARKER);
    }
  });

  test('no flag takes a secret', async () => {
    const { out } = await runHere(['serve', '--help']);
    const flags = out.match(/^ +--[\w.-]+/gm) ?? [];
    expect(flags.length).toBeGreaterThan(10);
    const secret = flags.filter((flag) => /password|token|secret|key/.test(flag));
    expect(secret.filter((flag) => !flag.endsWith('-file'))).toEqual([]);
  });
});

import { chmod, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { COLLECTORS } from '../../src/collectors/all-collectors.ts';
import { Secret } from '../../src/config/files.ts';
import { describeConfig } from '../../src/config/keys-and-flags.ts';
import { loadConfig } from '../../src/config/load.ts';
import { API, CLUSTER, problemsOfEach } from './bad-file.ts';
import { makeFolder } from './folder.ts';
import { loadText, problemsOf, warningsOf } from './loading.ts';

const USER = `${CLUSTER}      username: u\n`;

/** Clusters that differ in how they log in, and what is wrong with each. */
const LOGINS = [
  'username: u, password_file: nope',
  'username: u, password_file: folder',
  'username: u, password_file: empty',
  'username: u, password_file: lines',
  'username: u, password_file: nul',
  'username: u, password: hunter2, password_file: good, password_env: GOOD',
  'token: hunter2, token_env: GOOD',
  'username: u, password_env: UNSET',
  'username: u, password_env: LINES',
  'username: u',
  'password: hunter2',
  'username: u, password: hunter2, token: hunter2',
];

test('what is wrong with a secret is reported with its place and its remedy, never with the secret', async () => {
  const texts = [String.raw`"hunter\02"`, '12345678', '[hunter2]', '""'];
  const files = texts.map((password) => `${USER}      password: ${password}\n`);
  expect(await problemsOfEach(files)).toMatchInlineSnapshot(`
    "
    exporter.yml:6:17: clusters[0].cluster_api.password: the secret holds a NUL character: write it as UTF-8 text
    exporter.yml:6:17: clusters[0].cluster_api.password: the secret is not text: put it in quotes
    exporter.yml:6:17: clusters[0].cluster_api.password: the secret is not a single value
    exporter.yml:6:17: clusters[0].cluster_api.password: the secret is empty
    "
  `);
});

test('a secret that looks like a variable is warned of: none is filled in', async () => {
  const warnings = await warningsOf(loadText(`${USER}      password: "\${PASSWORD}"\n`));
  expect(warnings[0]).toBe(
    'exporter.yml:6:17: clusters[0].cluster_api.password: no variable is filled in: name it in password_env',
  );
});

test('a secret of a flag beside one of a variable names the variable', async () => {
  const folder = await makeFolder({ good: 'a' });
  const flags = {
    'cluster.url': ['https://a:1'],
    'cluster.username': 'u',
    'cluster.password-file': path.join(folder, 'good'),
  };
  const env = { CRDB_EXPORTER_CLUSTER_PASSWORD: 'hunter2' };
  const problems = await problemsOf(loadConfig({ flags, env, collectors: COLLECTORS }));
  expect(problems).toEqual([
    '--cluster.password-file: clusters[0].cluster_api.password_file: password_file beside password of CRDB_EXPORTER_CLUSTER_PASSWORD: keep one of them',
  ]);
});

test('what is wrong with a login is reported with its place and its remedy, never with the secret', async () => {
  const clusters = LOGINS.map(
    (login, at) => `  - { name: c${at}, cluster_api: { urls: ["https://a:1"], ${login} } }\n`,
  );
  const loading = loadText(`clusters:\n${clusters.join('')}`, {
    files: { 'folder/x': '', empty: '\n', lines: 'a\nb\n', nul: 'a\0\n', good: 'a' },
    env: { GOOD: 'a', LINES: 'hunter2\nhunter3' },
  });
  const problems = await problemsOf(loading);
  expect(`\n${problems.join('\n')}\n`).toMatchInlineSnapshot(`
    "
    exporter.yml:2:83: clusters[0].cluster_api.password_file: cannot read the secret file nope: there is no such file
    exporter.yml:3:83: clusters[1].cluster_api.password_file: cannot read the secret file folder: it is a directory
    exporter.yml:4:83: clusters[2].cluster_api.password_file: the secret file empty is empty
    exporter.yml:5:83: clusters[3].cluster_api.password_file: the secret file lines holds more than one line of text
    exporter.yml:6:83: clusters[4].cluster_api.password_file: the secret file nul holds a NUL character: write it as UTF-8 text
    exporter.yml:7:102: clusters[5].cluster_api.password_file: password_file beside password: keep one of them
    exporter.yml:7:122: clusters[5].cluster_api.password_env: password_env beside password: keep one of them
    exporter.yml:8:82: clusters[6].cluster_api.token_env: token_env beside token: keep one of them
    exporter.yml:9:82: clusters[7].cluster_api.password_env: the environment variable "UNSET" is not set
    exporter.yml:10:82: clusters[8].cluster_api.password_env: the environment variable "LINES" holds more than one line of text
    exporter.yml:11:65: clusters[9].cluster_api.username: a username without password: add password_file, password_env or password
    exporter.yml:12:66: clusters[10].cluster_api.password: a password without username: add username
    exporter.yml:13:95: clusters[11].cluster_api.token: a token beside a username: keep one way to log in
    "
  `);
});

test.each([
  ['text', '      password: hunter2\n', { password: '<secret>' }, 'hunter2'],
  // A byte order mark that is not at the beginning is part of the password.
  [
    'file',
    '      password_file: secrets/crdb\n',
    { password_file: expect.stringMatching(/\/secrets\/crdb$/) },
    'hunter2\uFEFF',
  ],
  ['variable', '      password_env: PASSWORD\n', { password_env: 'PASSWORD' }, 'hunter2\uFEFF'],
])(
  'a password given as %s is revealed on demand and shown nowhere',
  async (_, line, described, revealed) => {
    const { config } = await loadText(`${USER}${line}`, {
      files: { 'secrets/crdb': '\uFEFFhunter2\uFEFF\r\n' },
      env: { PASSWORD: 'hunter2\uFEFF\n' },
    });
    expect(await config.clusters[0]?.cluster_api?.password?.reveal()).toBe(revealed);
    const shown = [
      inspect(config, { depth: Infinity, showHidden: true, getters: true }),
      inspect(config, { depth: Infinity, customInspect: false, showHidden: true }),
      JSON.stringify(config),
      JSON.stringify(describeConfig(config, COLLECTORS)),
    ];
    expect(shown.join('\n')).not.toContain('hunter2');
    expect(describeConfig(config, COLLECTORS)).toMatchObject({
      clusters: [{ cluster_api: { username: 'u', ...described } }],
    });
  },
);

test.each(['hunter2', 'hunter2\n', 'hunter2\r\n'])(
  'the newline at the end of a variable is not part of the password: %j',
  async (value) => {
    const { config } = await loadConfig({
      flags: { 'cluster.url': ['https://a:1'], 'cluster.username': 'u' },
      env: { CRDB_EXPORTER_CLUSTER_PASSWORD: value },
      collectors: COLLECTORS,
    });
    expect(await config.clusters[0]?.cluster_api?.password?.reveal()).toBe('hunter2');
  },
);

test('a secret is the same as one of the same text from anywhere, or of the same file', () => {
  const text = new Secret('a');
  const file = new Secret('', { file: '/s' });
  expect(text.isSameAs(new Secret('a', { variable: 'X' }))).toBe(true);
  expect(text.isSameAs(new Secret('b'))).toBe(false);
  expect(file.isSameAs(new Secret('', { file: '/s' }))).toBe(true);
  expect(file.isSameAs(new Secret('', { file: '/t' }))).toBe(false);
  expect([text.isSameAs(file), file.isSameAs(text)]).toEqual([false, false]);
});

test('a secret prints as <secret> however it is printed', () => {
  const secret = new Secret('hunter2');
  const printed = [String(secret), [secret].join(), secret.toString(), inspect(secret)];
  expect(printed).toEqual(['<secret>', '<secret>', '<secret>', '<secret>']);
  expect(JSON.stringify({ secret })).toBe('{"secret":"<secret>"}');
  expect(inspect({ deep: { secret } })).toBe('{ deep: { secret: <secret> } }');
  expect(''.concat('a ', Object(secret))).toBe('a <secret>');
});

test('a secret file is read again after it was replaced, and an empty one is an error that names it', async () => {
  const folder = await makeFolder({
    'exporter.yml': `${USER}      password_file: crdb\n`,
    crdb: 'old',
    'crdb.new': 'new',
  });
  const file = path.join(folder, 'exporter.yml');
  const { config } = await loadConfig({
    flags: { 'config.file': file },
    env: {},
    collectors: COLLECTORS,
  });
  const password = config.clusters[0]?.cluster_api?.password;
  expect(await password?.reveal()).toBe('old');
  await rename(path.join(folder, 'crdb.new'), path.join(folder, 'crdb'));
  expect(await password?.reveal()).toBe('new');
  await writeFile(path.join(folder, 'crdb'), '');
  await expect(password?.reveal()).rejects.toThrow(`the secret file ${folder}/crdb is empty`);
});

/** A way to give a password, a file with a mode, and the key that a warning names. */
test.each([
  ['password_file: crdb', 'crdb', 0o660, undefined],
  ['password_file: crdb', 'crdb', 0o644, 'password_file'],
  ['password_file: crdb', 'exporter.yml', 0o644, undefined],
  ['password: hunter2', 'exporter.yml', 0o640, undefined],
  ['password: hunter2', 'exporter.yml', 0o644, 'password'],
  ['password_env: P', 'exporter.yml', 0o644, undefined],
])(
  'a secret that every user can read is warned of: %s, %s with mode %o',
  async (line, name, mode, key) => {
    const folder = await makeFolder({ 'exporter.yml': `${USER}      ${line}\n`, crdb: 'hunter2' });
    await chmod(path.join(folder, name), mode);
    const file = path.join(folder, 'exporter.yml');
    const env = { P: 'hunter2' };
    const loading = loadConfig({ flags: { 'config.file': file }, env, collectors: COLLECTORS });
    const column = key === 'password' ? 17 : 22;
    const warning = `exporter.yml:6:${column}: clusters[0].cluster_api.${key}: every user can read the secret in ${name}: run \`chmod o-r ${name}\``;
    expect(await warningsOf(loading)).toEqual(key === undefined ? [] : [warning]);
  },
);

test.each([
  ['a user to another host', 'http://crdb:8080', 'username: u\n      password: hunter2', true],
  ['a token to another host', 'http://crdb:8080', 'token: hunter2', true],
  ['nothing to another host', 'http://crdb:8080', 'timeout: 1s', false],
  ['a token by https', 'https://crdb:8080', 'token: hunter2', false],
  ['a token to localhost', 'http://localhost:8080', 'token: hunter2', false],
  ['a token to 127.0.0.1', 'http://127.0.0.1:8080', 'token: hunter2', false],
  ['a token to ::1', 'http://[::1]:8080', 'token: hunter2', false],
  ['a token to a name like a loopback', 'http://127.0.0.1.example:8080', 'token: hunter2', true],
  ['a token to a name that ends like one', 'http://notlocalhost:8080', 'token: hunter2', true],
])(
  'plain text is warned of only when it is read on the way: %s',
  async (_, url, login, isWarned) => {
    const warnings = await warningsOf(loadText(`${API}      urls: ["${url}"]\n      ${login}\n`));
    const warning = `exporter.yml:4:7: clusters[0].cluster_api: credentials are sent in plain text to ${url}: use https://`;
    expect(warnings).toEqual(isWarned ? [warning] : []);
  },
);

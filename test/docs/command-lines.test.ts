import { execFileSync, spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PROGRAM } from '../support/program.ts';

const ROOT = path.join(import.meta.dirname, '..', '..');
const COMMAND = /^(?:bin\/crdb-exporter\.cjs|crdb-exporter) /;
/** Commands that change something or wait; only their help is run. */
const NOT_RUN =
  /^(?:demo|simulate|diagnose|probe|nodes|ranges|sessions|users|table|cloud|reference)\b/;

/** Every command line of the program in the shell blocks of the pages; a backslash continues a line. */
function listCommandLines(): readonly string[] {
  const pages = [
    'README.md',
    ...readdirSync(path.join(ROOT, 'docs')).map((name) => `docs/${name}`),
  ];
  const lines = pages
    .filter((page) => page.endsWith('.md') && page !== 'docs/commands.md')
    .flatMap((page) => [
      ...readFileSync(path.join(ROOT, page), 'utf8').matchAll(/```sh\n([^`]*)```/g),
    ])
    .flatMap(([, block = '']) => block.replaceAll(/\\\n\s*/g, '').split('\n'))
    .map((line) => line.replace(/^\$ /, '').trim())
    .filter((line) => COMMAND.test(line));
  return [...new Set(lines)];
}

let folder = '';

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'crdb-exporter-docs-'));
  mkdirSync(path.join(folder, 'secrets'));
  mkdirSync(path.join(folder, 'tls'));
  for (const secret of ['secrets/crdb', 'secrets/cloud']) {
    writeFileSync(path.join(folder, secret), 'secret\n', { mode: 0o600 });
  }
  const certificate = path.join(folder, 'tls', 'ca.crt');
  const key = path.join(folder, 'tls', 'ca.key');
  const how = '-x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=docs'.split(' ');
  execFileSync('openssl', ['req', ...how, '-keyout', key, '-out', certificate], { stdio: 'pipe' });
  cpSync(path.join(ROOT, 'config', 'exporter.example.yml'), path.join(folder, 'exporter.yml'));
});

afterAll(() => rmSync(folder, { recursive: true }));

describe('command lines of the pages', () => {
  test('are found', () => {
    expect(listCommandLines().length).toBeGreaterThan(4);
  });

  test.each(listCommandLines())('%s', (line) => {
    const words = line
      .replace(COMMAND, '')
      .replace(/\s+#.*$/, '')
      .replaceAll('/run/secrets/', path.join(folder, 'secrets/'))
      .replaceAll('/etc/crdb/', path.join(folder, 'tls/'))
      .match(/'[^']*'|\S+/g);
    const args = (words ?? []).map((word) => word.replace(/^'(.*)'$/, '$1'));
    const isServe = args[0]?.startsWith('-') ?? true;
    const asked = NOT_RUN.test(args.join(' ')) ? [...args, '--help'] : args;
    const run = spawnSync(
      process.execPath,
      [PROGRAM, ...asked, ...(isServe ? ['--config.check'] : [])],
      {
        cwd: folder,
        encoding: 'utf8',
      },
    );
    expect(run.stderr).not.toMatch(/error|unknown/i);
    expect(run.status).toBe(0);
  });
});

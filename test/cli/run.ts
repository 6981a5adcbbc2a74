import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, vi } from 'vitest';
import { runCommandLine } from '../../src/cli/program.ts';
import { PROGRAM } from '../support/program.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
/** A process takes a second to start, and many when the machine is busy with other tests. */
export const PROCESS_TIMEOUT_MS = 600_000;
/** Of the test file that imports this. */
const FOLDER = mkdtempSync(path.join(tmpdir(), 'crdb-exporter-cli-'));

afterAll(() => rmSync(FOLDER, { recursive: true }));

export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** A process that runs; what it prints is collected from its start. */
export interface Running extends AsyncDisposable {
  readonly child: ChildProcessWithoutNullStreams;
  /** Resolves once standard output or standard error holds the text. */
  until(text: string): Promise<void>;
  /** What was printed so far. */
  seen(): Pick<Ended, 'out' | 'err'>;
  readonly ended: Promise<Ended>;
}

/** Nothing of the environment of the test run may configure the program. */
function cleanEnvironment(more: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(?:CRDB_EXPORTER_|NO_COLOR|FORCE_COLOR|CI$|VITEST|NODE_OPTIONS)/.test(name),
  );
  return { ...Object.fromEntries(kept), ...more };
}

/** Starts a program in the checkout. */
export function startProgram(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Running {
  const child = spawn(command, args, { cwd: ROOT, env: cleanEnvironment(env) });
  const seen = { out: '', err: '' };
  child.stdout.on('data', (chunk: Buffer) => {
    seen.out += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    seen.err += chunk.toString();
  });
  const closed = once(child, 'close');
  return {
    child,
    async until(wanted) {
      while (!seen.out.includes(wanted) && !seen.err.includes(wanted)) {
        if (child.exitCode !== null) throw new Error(`ended without ${wanted}: ${seen.err}`);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },
    seen: () => seen,
    ended: closed.then(() => ({ code: child.exitCode, ...seen })),
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await closed;
    },
  };
}

/** Starts the command line as users do. */
export function start(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Running {
  return startProgram(process.execPath, [PROGRAM, ...args], env);
}

/** Runs the command line to its end, in pipes and without standard input. */
export function run(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  const running = start(args, env);
  running.child.stdin.end();
  return running.ended;
}

/** Runs the command line in this process, which is much quicker; one at a time. */
export async function runHere(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  time?: Parameters<typeof runCommandLine>[3],
): Promise<Ended> {
  const { result: code, ...seen } = await capture(() => runCommandLine(args, env, undefined, time));
  return { code, ...seen };
}

/** What the work resolves to, and what it prints meanwhile, which it sees; one at a time. */
export async function capture<Result>(
  work: (seen: Readonly<Pick<Ended, 'out' | 'err'>>) => Promise<Result>,
): Promise<{ readonly result: Result } & Pick<Ended, 'out' | 'err'>> {
  const seen = { out: '', err: '' };
  const listen = (stream: NodeJS.WriteStream, into: keyof typeof seen) =>
    vi.spyOn(stream, 'write').mockImplementation((chunk, ...rest: readonly unknown[]) => {
      seen[into] += String(chunk);
      rest.find((one): one is () => void => typeof one === 'function')?.();
      return true;
    });
  const spies = [listen(process.stdout, 'out'), listen(process.stderr, 'err')];
  try {
    return { result: await work(seen), ...seen };
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

/** A file with this content. */
export async function writeTemporary(name: string, content: string): Promise<string> {
  const folder = path.join(FOLDER, randomUUID());
  // Where test files share a process, the first one has removed it.
  await mkdir(folder, { recursive: true });
  const file = path.join(folder, name);
  await writeFile(file, content, { mode: 0o600 });
  return file;
}

interface Simulated {
  readonly clusterUrls: readonly string[];
  readonly username: string;
  readonly password: string;
  readonly cloudUrl: string;
  readonly cloudToken: string;
  readonly cloudClusterId: string;
}

/** A configuration of both APIs of a simulator, as the flag that names its file. */
export async function configFlag(
  simulator: Simulated,
  {
    clusterApi = '',
    token = simulator.cloudToken,
    more = '',
  }: { readonly clusterApi?: string; readonly token?: string; readonly more?: string } = {},
): Promise<string> {
  const urls = simulator.clusterUrls.map((url) => JSON.stringify(url)).join(', ');
  const login = `username: ${simulator.username}, password: ${simulator.password}`;
  const file = await writeTemporary(
    'exporter.yml',
    `clusters:
  - name: sim
    cluster_api: { urls: [${urls}], ${clusterApi || login} }
    cloud_api: { url: ${JSON.stringify(simulator.cloudUrl)}, cluster_id: ${simulator.cloudClusterId}, token: ${token} }
${more}`,
  );
  return `--config.file=${file}`;
}

const TERMINAL = String.raw`
import json, os, pty, select, signal, struct, sys, termios, fcntl, time
order = json.loads(sys.argv[1])
pid, fd = pty.fork()
if pid == 0:
    os.execvpe(order['argv'][0], order['argv'], {**os.environ, **order['env']})
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack('HHHH', 40, order['columns'], 0, 0))
answers = order['answers']
seen = b''
while True:
    try:
        chunk = os.read(fd, 65536)
    except OSError:
        break
    if not chunk:
        break
    seen += chunk
    sys.stdout.buffer.write(chunk)
    sys.stdout.buffer.flush()
    if answers and answers[0]['after'].encode() in seen:
        os.write(fd, answers.pop(0)['send'].encode())
        seen = b''
_, status = os.waitpid(pid, 0)
sys.exit(os.waitstatus_to_exitcode(status))
`;

export interface TerminalOptions {
  readonly columns?: number;
  /** What the person types, each once a text has been seen. */
  readonly answers?: readonly { readonly after: string; readonly send: string }[];
}

/** Runs the command line in a terminal of its own; standard error comes there, too. Needs python3. */
export async function runInTerminal(
  args: readonly string[],
  { columns = 100, answers = [] }: TerminalOptions = {},
): Promise<{ readonly code: number | null; readonly screen: string }> {
  const order = {
    argv: [process.execPath, PROGRAM, ...args],
    columns,
    env: { TERM: 'xterm-256color' },
    answers,
  };
  const { code, out } = await startProgram('python3', ['-c', TERMINAL, JSON.stringify(order)])
    .ended;
  return { code, screen: out };
}

/** The screen without colours and cursor movements, as lines. */
export function linesOf(screen: string): readonly string[] {
  // oxlint-disable-next-line no-control-regex -- what terminals are told
  const plain = screen.replaceAll(/\u001B\[[\d;?]*[A-Za-z]/g, '').replaceAll('\r\n', '\n');
  return plain.split('\n');
}

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Simulator } from '../../simulator/index.ts';
import { runCommandLine } from '../../src/cli/program.ts';
import { clusterYaml } from '../../test/support/exporter.ts';

/** What `nodes --safe-to-stop` says. */
export interface Said {
  /** The nodes that may stop. */
  readonly nodes: readonly number[];
  readonly notes: string;
}

interface CommandClock {
  /** Lets time pass where the command waits. */
  readonly wait: (milliseconds: number) => void;
  readonly wallMs: () => number;
}

/** Runs `nodes --safe-to-stop` in this process, by this clock. */
export async function runSafeToStop(
  simulator: Simulator,
  { wait, wallMs }: CommandClock,
): Promise<Said> {
  const sleep = async (milliseconds: number): Promise<void> => wait(milliseconds);
  const folder = await mkdtemp(path.join(tmpdir(), 'crdb-exporter-oracle-'));
  try {
    const file = path.join(folder, 'exporter.yml');
    const collectors = 'collectors: { ranges: { concurrency: 1, route: gateway } }\n';
    await writeFile(file, `${collectors}clusters:\n${clusterYaml(simulator)}`, { mode: 0o600 });
    const args = ['nodes', '--safe-to-stop', '--output', 'json', `--config.file=${file}`];
    const { out, err } = await captured(() =>
      runCommandLine(args, {}, undefined, { sleep, wallMs }),
    );
    return { nodes: readNodes(out), notes: err };
  } finally {
    await rm(folder, { recursive: true });
  }
}

function readNodes(out: string): readonly number[] {
  if (out === '') return [];
  const { nodes }: { readonly nodes: readonly { readonly node_id: number }[] } = JSON.parse(out);
  return nodes.map(({ node_id: id }) => id);
}

/** What the work writes to standard output and standard error, which see nothing of it; one at a time. */
async function captured(
  work: () => Promise<unknown>,
): Promise<{ readonly out: string; readonly err: string }> {
  const seen = { out: '', err: '' };
  const release = [capture(process.stdout, seen, 'out'), capture(process.stderr, seen, 'err')];
  try {
    await work();
    return seen;
  } finally {
    for (const restore of release) restore();
  }
}

function capture(
  stream: NodeJS.WriteStream,
  seen: Record<'out' | 'err', string>,
  name: 'out' | 'err',
): () => void {
  const write = stream.write.bind(stream);
  stream.write = (chunk: string | Uint8Array, ...rest: readonly unknown[]): boolean => {
    seen[name] += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString();
    rest.find((each): each is () => void => typeof each === 'function')?.();
    return true;
  };
  return () => {
    stream.write = write;
  };
}

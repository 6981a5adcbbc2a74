import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { readScrape, type Scrape } from '../../test/support/exporter.ts';
import { PROGRAM } from '../../test/support/program.ts';
import type { Access } from './server.ts';

const ROOT = path.join(import.meta.dirname, '../..');

/** Ranges whose voters are compared, by id. */
const RANGES = Array.from({ length: 20 }, (_, index) => String(index + 1));

/**
 * One poll of all collectors by `crdb-exporter probe`, in a process of its own, and the voters of the first ranges by `range` as
 * samples `voters_of_range`; `main` is the program.
 */
export async function probe(
  { urls, username, password, ca }: Access,
  main = PROGRAM,
): Promise<Scrape> {
  const folder = await mkdtemp(path.join(tmpdir(), 'crdb-exporter-live-'));
  try {
    const caFile = path.join(folder, 'ca.crt');
    if (ca !== undefined) await writeFile(caFile, ca);
    const flags = [
      ...urls.map((url) => `--cluster.url=${url}`),
      ...(username === undefined ? [] : [`--cluster.username=${username}`]),
      ...(ca === undefined ? [] : [`--cluster.ca-file=${caFile}`]),
    ];
    const run = (...args: readonly string[]) => runExporter(main, [...args, ...flags], password);
    const exposition = await run('probe', '--collector.users');
    const ranges = await run('range', ...RANGES, '--output', 'json');
    return readScrape(exposition + writeVoters(JSON.parse(ranges)));
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** The standard output of a command. */
async function runExporter(main: string, args: readonly string[], password = ''): Promise<string> {
  const env = { ...process.env, CRDB_EXPORTER_CLUSTER_PASSWORD: password };
  const child = spawn(process.execPath, [main, ...args], { env, cwd: ROOT });
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  if (out === '') throw new Error(`${args[0]}: ${err}`);
  if (err !== '') process.stderr.write(err);
  return out;
}

/** The part of the output of `range` that is compared. */
interface RangeReports {
  readonly ranges: readonly {
    readonly range_id: number;
    readonly descriptor: { readonly replicas: readonly { readonly type: string }[] } | null;
  }[];
}

function writeVoters({ ranges }: RangeReports): string {
  const lines = ranges.flatMap(({ range_id: id, descriptor }) => {
    if (descriptor === null) return [];
    const voters = descriptor.replicas.filter(({ type }) => type === 'voter').length;
    return [`voters_of_range{range="${id}"} ${voters}\n`];
  });
  return lines.join('');
}

import path from 'node:path';
import type { Simulator } from '../../simulator/index.ts';
import { type Running, startProgram } from '../cli/run.ts';
import { PROGRAM } from '../support/program.ts';

export const MAIN = path.resolve(import.meta.dirname, '../../src/main.ts');

/** Start options of a real process, apart from the cluster. */
export interface Start {
  readonly simulator: Pick<Simulator, 'clusterUrl' | 'username' | 'password'>;
  readonly listen?: string;
  readonly args?: readonly string[];
  /** Program text that runs in the process before the exporter. */
  readonly before?: string;
  /** Put before the command, as a shell line that ends in it. */
  readonly shell?: (command: string) => string;
}

/** Starts the exporter as a process on a free port, monitoring a simulated cluster. */
export function startExporterProcess(start: Start): Running {
  const { simulator, listen = '127.0.0.1:0', args = [], before, shell } = start;
  const command = [
    // What is loaded before may look at the modules, which the compiled program does not have.
    ...(before === undefined ? [PROGRAM] : [...preload(before), MAIN]),
    `--web.listen-address=${listen}`,
    `--cluster.url=${simulator.clusterUrl}`,
    `--cluster.username=${simulator.username}`,
    '--log.level=debug',
    ...args,
  ];
  const env = { CRDB_EXPORTER_CLUSTER_PASSWORD: simulator.password };
  if (shell === undefined) return startProgram(process.execPath, command, env);
  const quoted = [process.execPath, ...command].map((word) => `'${word}'`).join(' ');
  return startProgram('sh', ['-c', shell(quoted)], env);
}

/** Flags of Node.js that run this program text first. */
export function preload(text: string): readonly string[] {
  return ['--import', `data:text/javascript,${encodeURIComponent(text)}`];
}

/** The address of the process, once it logs that it listens. */
export async function addressOf(running: Running): Promise<string> {
  await running.until('msg=listening');
  const [, address] = /msg=listening address=(\S+)/.exec(running.seen().out) ?? [];
  if (address === undefined) throw new Error(`no address in ${running.seen().out}`);
  return address;
}

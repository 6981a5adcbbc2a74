import { readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { startProgram, writeTemporary } from '../cli/run.ts';
import { onlyCollectors } from '../support/collectors.ts';
import { readScrape, type Scrape } from '../support/exporter.ts';
import { serve, type TestServer } from '../support/http-server.ts';
import { addressOf, MAIN } from './process-support.ts';

export type CollectorName = 'nodes' | 'sessions' | 'ranges';

/** A piece of a body, or what makes the body. */
export type Body = Iterable<string>;

/** Answers by a part of their path; the first that fits, else an empty document. */
export type Answers = Readonly<Record<string, (url: URL) => Body>>;

const LOGIN: Answers = { '/login/': () => ['{"session":"dG9r"}'] };

/** A server that sends each answer as fast as it is read, until the client has enough. */
export function startFlood(answers: Answers): Promise<TestServer> {
  const all = Object.entries({ ...LOGIN, ...answers });
  return serve(({ url = '/' }, response) => {
    const found = all.find(([part]) => url.includes(part));
    const body = found?.[1](new URL(url, 'http://flood')) ?? ['{}'];
    const stream = Readable.from(body, { highWaterMark: 2 });
    response.on('close', () => stream.destroy());
    stream.pipe(response);
  });
}

/** Elements of a list as pieces of some 64 kB; without an end where `count` is Infinity. */
export function* listOf(
  name: string,
  count: number,
  element: (index: number) => string,
  rest = '',
): Body {
  yield `{"${name}":[`;
  let piece = '';
  for (let index = 0; index < count; index += 1) {
    piece += `${index === 0 ? '' : ','}${element(index)}`;
    if (piece.length < 65_536) continue;
    yield piece;
    piece = '';
  }
  yield `${piece}]${rest}}`;
}

/** What a process did with the answers of a server. */
export interface Endured {
  readonly scrape: Scrape;
  /** Of the process since its start. */
  readonly peakMiB: number;
  readonly log: string;
}

const PAUSE_MS = 300;

/** A cluster that one collector polls. */
export interface Flood {
  readonly collector: CollectorName;
  readonly server: TestServer;
  /** Options of the collector. */
  readonly options?: Readonly<Record<string, unknown>>;
}

/**
 * Runs the exporter as a process with a small heap until it has polled each of these clusters once, all at the same time.
 * Meanwhile every health check must be answered. Rejects when the process ends.
 */
export async function endure(
  floods: Readonly<Record<string, Flood>>,
  { heapMiB }: { readonly heapMiB: number },
): Promise<Endured> {
  const clusters = Object.entries(floods).map(([name, flood]) => describeCluster(name, flood));
  const yaml = `${onlyCollectors({})}clusters: [${clusters.join(', ')}]\n`;
  const file = await writeTemporary('exporter.yml', yaml);
  const heap = `--max-old-space-size=${heapMiB}`;
  const args = [heap, '--max-semi-space-size=1', MAIN, `--config.file=${file}`];
  await using running = startProgram(process.execPath, [
    ...args,
    '--web.listen-address=127.0.0.1:0',
  ]);
  const address = await addressOf(running);
  for (;;) {
    const health = await fetch(`${address}/-/healthy`).catch(() => undefined);
    if (health?.status !== 200) throw new Error(`not healthy: ${running.seen().err.slice(-2_000)}`);
    const scrape = readScrape(await (await fetch(`${address}/metrics`)).text());
    const arePolled = Object.entries(floods).every(([crdb_cluster, { collector }]) => {
      const polls = scrape.value('crdb_exporter_polls_total', { crdb_cluster, collector });
      return (polls ?? 0) > 0;
    });
    if (arePolled) {
      const status = readFileSync(`/proc/${running.child.pid}/status`, 'utf8');
      const [, peak = ''] = /VmHWM:\s+(\d+)/.exec(status) ?? [];
      return { scrape, peakMiB: Number(peak) / 1024, log: running.seen().out };
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}

function describeCluster(name: string, { collector, server, options }: Flood): string {
  const timing = { enabled: true, interval: '10m', timeout: '5m', max_duty: 1 };
  return JSON.stringify({
    name,
    cluster_api: { urls: [server.url], username: 'u', password: 'p', timeout: '5m' },
    collectors: { [collector]: { ...timing, ...options } },
  });
}

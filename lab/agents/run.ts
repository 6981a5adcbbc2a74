// `npm run lab -- agents [NAME …]`: lets real agents scrape the demo as the examples of config/agents say, and prints which series
// arrive under the names that rules and dashboards have.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { runProgram } from '../../test/packaging/installed.ts';
import { AGENTS } from './agents.ts';

const ROOT = path.join(import.meta.dirname, '../..');

function count(names: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

/** `2,975 series sent, 3 lost: crdb_a 2, crdb_b 1`. Event-loop lags are gone in a second scrape within milliseconds, on purpose. */
function compare(sent: readonly string[], received: readonly string[]): string {
  const arrived = count(received);
  const lost = Array.from(
    count(sent.filter((name) => !name.startsWith('nodejs_eventloop_lag'))),
    ([name, number]): readonly [string, number] => [
      name,
      Math.max(0, number - (arrived.get(name) ?? 0)),
    ],
  ).filter(([, number]) => number > 0);
  const total = lost.reduce((sum, [, number]) => sum + number, 0);
  const list = lost.map(([name, number]) => ` ${name} ${number}`).join(',');
  return `${sent.length} series sent, ${total} lost${total === 0 ? '' : `:${list}`}`;
}

const wanted = process.argv.slice(2);
const folder = await mkdtemp(path.join(tmpdir(), 'crdb-exporter-agents-'));
try {
  const program = path.join(ROOT, 'bin/crdb-exporter.cjs');
  const ports = ['web.listen-address', 'listen', 'cloud-listen'];
  await using demo = runProgram(process.execPath, [
    program,
    'demo',
    '--scenario=calm',
    ...ports.map((flag) => `--${flag}=127.0.0.1:0`),
  ]);
  const [url] = await demo.said(/http:\/\/\S+\/metrics/);
  await demo.said(/collector succeeded" cluster=demo collector=ranges/);
  for (const agent of AGENTS.filter(({ name }) => wanted.length === 0 || wanted.includes(name))) {
    const text = await (await fetch(url)).text();
    const sent = text.split('\n').flatMap((line) => /^[a-zA-Z_]\w*/.exec(line)?.[0] ?? []);
    const said = await agent.receive({ url, folder }).then(
      (received) => compare(sent, received),
      (error: unknown) => `not run: ${error instanceof Error ? error.message : String(error)}`,
    );
    console.log(`${agent.name} ${agent.version}: ${said}`);
  }
} finally {
  await rm(folder, { recursive: true });
}

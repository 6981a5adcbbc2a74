// `npm run soak -- [--minutes M]`: an accelerated life of the exporter, with scrapes and faults all the time. Ends
// with 1 when its memory, sockets or timers grow.
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type Simulator, startSimulator } from '../src/simulator/index.ts';
import { readScrape } from '../test/support/exporter.ts';
import { optionsOfImage } from './image-options.ts';
import { startProcess } from './process.ts';
import type { Held } from './soak-exporter.ts';

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '10' } } });
const DURATION_MS = Number(values.minutes) * 60_000;
const INTERVAL_SECONDS = 0.05;
const LOOKS = 24;
/** Until then the heap finds its size and everything has been compiled. */
const WARM_UP_SHARE = 1 / 3;
const MOST_GROWTH = 0.1;
/** Connections and timers come and go with the polls. */
const MOST_MORE = 12;
const SCRAPE_EVERY_MS = 100;
const TROUBLE_EVERY_MS = 700;
const TROUBLE_MS = 150;

type Fault = Parameters<Simulator['fault']>[0];

const FAULTS: readonly Fault[] = [
  { kind: 'reset' },
  { kind: 'status', status: 500 },
  { kind: 'status', status: 503 },
  { endpoint: 'nodes', kind: 'bad-json' },
  { endpoint: 'node_ranges', kind: 'cut', bytes: 2_000 },
  { endpoint: 'sessions', kind: 'slow', ms: 100 },
];

await using simulator = await startSimulator({
  nodes: 4,
  ranges: 60,
  sessions: 30,
  metricKeys: 'useful',
  quirks: { cloudRateLimit: false },
});
const start = {
  intervalSeconds: INTERVAL_SECONDS,
  yaml: `collectors: { users: { enabled: true } }
clusters:
  - name: soak
    cluster_api: { urls: ["${simulator.clusterUrl}"], username: ${simulator.username}, password: ${simulator.password} }
    cloud_api: { url: "${simulator.cloudUrl}", cluster_id: ${simulator.cloudClusterId}, token: ${simulator.cloudToken} }
`,
};
await using exporter = await startProcess('soak-exporter.ts', start, optionsOfImage());
const url = await exporter.ask<string>('url');
const over = AbortSignal.timeout(DURATION_MS);
const counted = { scrapes: 0, polls: 0 };
const looks: Held[] = [];
await Promise.all([scrapeOn(), makeTrouble(), lookOn()]);
report();

async function scrapeOn(): Promise<void> {
  while (!over.aborted) {
    const accept = counted.scrapes % 2 === 0 ? 'text/plain' : 'application/openmetrics-text';
    const answer = await fetch(`${url}/metrics`, { headers: { accept } });
    const text = await answer.text();
    counted.scrapes += 1;
    const polls = readScrape(text).all('crdb_exporter_polls_total');
    counted.polls = polls.reduce((sum, { value }) => sum + value, 0);
    await sleep(SCRAPE_EVERY_MS);
  }
}

async function makeTrouble(): Promise<void> {
  for (let turn = 0; !over.aborted; turn += 1) {
    await sleep(TROUBLE_EVERY_MS);
    const fault = FAULTS[turn % FAULTS.length];
    if (fault !== undefined) simulator.fault(fault);
    if (turn % 5 === 0) simulator.world.revokeTokens();
    if (turn % 7 === 0) simulator.world.killNode(3);
    if (turn % 7 === 3) simulator.world.reviveNode(3);
    await sleep(TROUBLE_MS);
    simulator.clearFaults();
  }
}

async function lookOn(): Promise<void> {
  for (let look = 0; look < LOOKS; look += 1) {
    await sleep(DURATION_MS / LOOKS);
    const held = await exporter.ask<Held>('held');
    looks.push(held);
    const { residentMib, heapMib, sockets, timers } = held;
    console.log(
      `${counted.polls} polls: ${residentMib.toFixed(1)} MiB resident, ${heapMib.toFixed(1)} MiB of heap, ${sockets} sockets, ${timers} timers`,
    );
  }
}

/** Compares what was held soon after the warm-up with what was held in the end. */
function report(): void {
  const warm = looks.slice(Math.floor(LOOKS * WARM_UP_SHARE));
  const third = Math.floor(warm.length / 3);
  const compare = (valueOf: (held: Held) => number) => ({
    early: median(warm.slice(0, third).map(valueOf)),
    late: median(warm.slice(-third).map(valueOf)),
  });
  const resident = compare((held) => held.residentMib);
  const growth = resident.late / resident.early - 1;
  const more = (['sockets', 'timers'] as const).filter((kind) => {
    const { early, late } = compare((held) => held[kind]);
    return late - early > MOST_MORE;
  });
  const grown = [...(growth > MOST_GROWTH ? ['memory'] : []), ...more];
  console.log(
    `${counted.polls} polls, ${counted.scrapes} scrapes in ${values.minutes} min; resident after warm-up ${resident.early.toFixed(1)} → ${resident.late.toFixed(1)} MiB (${(100 * growth).toFixed(1)} %); ${grown.length === 0 ? 'nothing grows' : `grows: ${grown.join(', ')}`}`,
  );
  process.exitCode = grown.length === 0 ? 0 : 1;
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;
}

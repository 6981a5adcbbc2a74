// `npm run soak -- [--minutes M]`: runs the exporter with short intervals, scrapes and faults. Exits
// with 1 when its memory, sockets or timers grow.
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type Simulator, startSimulator } from '../simulator/index.ts';
import { readScrape } from '../test/support/exporter.ts';
import { optionsOfImage } from './image-options.ts';
import { startProcess } from './process.ts';
import type { Held } from './soak-exporter.ts';

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '10' } } });
const DURATION_MS = Number(values.minutes) * 60_000;
const INTERVAL_SECONDS = 0.05;
const SAMPLES = 24;
/** Until then the heap grows and code is compiled. */
const WARM_UP_SHARE = 1 / 3;
const MAX_GROWTH = 0.1;
/** Connections and timers come and go with the polls. */
const MAX_MORE = 12;
const SCRAPE_INTERVAL_MS = 100;
const FAULT_INTERVAL_MS = 700;
const FAULT_MS = 150;

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
const url = await exporter.call<string>('url');
const over = AbortSignal.timeout(DURATION_MS);
const counted = { scrapes: 0, polls: 0 };
const samples: Held[] = [];
await Promise.all([scrape(), injectFaults(), sampleResources()]);
report();

async function scrape(): Promise<void> {
  while (!over.aborted) {
    const accept = counted.scrapes % 2 === 0 ? 'text/plain' : 'application/openmetrics-text';
    const answer = await fetch(`${url}/metrics`, { headers: { accept } });
    const text = await answer.text();
    counted.scrapes += 1;
    const polls = readScrape(text).all('crdb_exporter_polls_total');
    counted.polls = polls.reduce((sum, { value }) => sum + value, 0);
    await sleep(SCRAPE_INTERVAL_MS);
  }
}

async function injectFaults(): Promise<void> {
  for (let turn = 0; !over.aborted; turn += 1) {
    await sleep(FAULT_INTERVAL_MS);
    const fault = FAULTS[turn % FAULTS.length];
    if (fault !== undefined) simulator.fault(fault);
    if (turn % 5 === 0) simulator.world.revokeTokens();
    if (turn % 7 === 0) simulator.world.killNode(3);
    if (turn % 7 === 3) simulator.world.reviveNode(3);
    await sleep(FAULT_MS);
    simulator.clearFaults();
  }
}

async function sampleResources(): Promise<void> {
  for (let sample = 0; sample < SAMPLES; sample += 1) {
    await sleep(DURATION_MS / SAMPLES);
    const held = await exporter.call<Held>('held');
    samples.push(held);
    const { residentMib, heapMib, sockets, timers } = held;
    console.log(
      `${counted.polls} polls: ${residentMib.toFixed(1)} MiB resident, ${heapMib.toFixed(1)} MiB of heap, ${sockets} sockets, ${timers} timers`,
    );
  }
}

/** Compares resources after the warm-up with those at the end. */
function report(): void {
  const warm = samples.slice(Math.floor(SAMPLES * WARM_UP_SHARE));
  const third = Math.floor(warm.length / 3);
  const compare = (valueOf: (held: Held) => number) => ({
    early: median(warm.slice(0, third).map(valueOf)),
    late: median(warm.slice(-third).map(valueOf)),
  });
  const resident = compare((held) => held.residentMib);
  const growth = resident.late / resident.early - 1;
  const more = (['sockets', 'timers'] as const).filter((kind) => {
    const { early, late } = compare((held) => held[kind]);
    return late - early > MAX_MORE;
  });
  const grown = [...(growth > MAX_GROWTH ? ['memory'] : []), ...more];
  console.log(
    `${counted.polls} polls, ${counted.scrapes} scrapes in ${values.minutes} min; resident after warm-up ${resident.early.toFixed(1)} → ${resident.late.toFixed(1)} MiB (${(100 * growth).toFixed(1)} %); ${grown.length === 0 ? 'no growth' : `growth: ${grown.join(', ')}`}`,
  );
  process.exitCode = grown.length === 0 ? 0 : 1;
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;
}

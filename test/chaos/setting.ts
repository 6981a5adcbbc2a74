import { RELEASES, type Simulator, startSimulator } from '../../simulator/index.ts';
import type { Random } from '../../simulator/random.ts';
import { COLLECTORS } from '../../src/collectors/all-collectors.ts';
import { startTestExporter, type TestExporter } from '../support/exporter.ts';
import { Chronicle } from './chronicle.ts';
import { type Clocks, createClocks } from './clocks.ts';
import { type Flights, watchFlights } from './flights.ts';
import { observe, type ObservedPoll } from './observed-polls.ts';
import { openProxy, type Proxy } from './proxy.ts';
import { type Dimensions, hasten, Variants, yamlOf } from './variants.ts';
import { LICENSES } from './world-events.ts';

/** The exporter under test between its clocks, its network and its cluster. */
export interface Setting extends AsyncDisposable {
  readonly dimensions: Dimensions;
  readonly simulator: Simulator;
  readonly exporter: TestExporter;
  readonly clocks: Clocks;
  readonly chronicle: Chronicle;
  readonly polls: readonly ObservedPoll[];
  readonly flights: Flights;
  readonly variants: Variants;
  /** Before the cluster's addresses in turn, then before that of the cloud. */
  readonly proxies: readonly Proxy[];
  /** Session tokens that the cluster has given out. */
  readonly tokens: ReadonlySet<string>;
  /** Lets the world's clock go on, and that of the servers' Date, which runs meanwhile. */
  readonly passInWorld: (milliseconds: number) => void;
}

/** First polls and back-off are spread over this share of their usual time. */
const RANDOM_SHARE = 0.1;

/** Its tables are those of the ranges; requests are for the system's. */
const VIRTUAL_CLUSTER = 3;

const LOGIN = { name: 'exporter', password: 'exporter-demo' };
/** Those for monitoring, but not for the sessions of others. */
const WITHOUT_SESSIONS = ['VIEWCLUSTERMETADATA', 'SELECT_USERS', 'CONNECT'] as const;

/** `patience`: by how much longer all times are than the machine seems to need. */
export async function setUp(seed: number, random: Random, patience: number): Promise<Setting> {
  const drawn = drawDimensions(random);
  const stack = new AsyncDisposableStack();
  const isVirtualized = random.chance(0.25);
  const { seesOwnSessions, ...world } = drawn.world;
  const startedAt = performance.now();
  let worldMs = Date.now();
  const simulator = stack.use(
    await startSimulator({
      seed,
      now: () => worldMs,
      headerNow: () => worldMs + performance.now() - startedAt,
      nodes: random.integer(3, 5),
      ranges: random.integer(15, 35),
      sessions: random.integer(5, 25),
      storesPerNode: drawn.storesPerNode,
      metricKeys: 'useful',
      ...(random.chance(0.5) && { release: random.pick(RELEASES) }),
      gateways: drawn.gateways,
      ...(isVirtualized && { virtualCluster: VIRTUAL_CLUSTER }),
      ...world,
      ...(seesOwnSessions && { users: [{ ...LOGIN, privileges: WITHOUT_SESSIONS }] }),
      // The truth is that of now. Few nodes often lose all system ranges: that is drawn as any other trouble.
      quirks: { tableCacheAgeMs: 0, systemRangesLost: 'works' },
    }),
  );
  const dimensions = { ...drawn, slowness: patience * (await measureSlowness(simulator)) };
  simulator.setQuirk('cloudRateLimit', false);
  simulator.world.setLicense(random.pick(LICENSES));
  simulator.setQuirk('sessionsPageCap', dimensions.sessionsPageCap);
  const clocks = createClocks();
  const tokens = new Set<string>();
  const noteToken = (chunk: Buffer): void => {
    const [, token] = /"session":"([^"]+)"/.exec(chunk.toString('latin1')) ?? [];
    if (token !== undefined) tokens.add(token);
  };
  const proxies: Proxy[] = [];
  for (const url of [...simulator.clusterUrls, simulator.cloudUrl]) {
    proxies.push(stack.use(await openProxy(url, noteToken)));
  }
  const urls = proxies.map(({ url }) => url);
  const flights = stack.use(watchFlights(new Set(urls.slice(0, -1))));
  const chronicle = new Chronicle(
    simulator,
    clocks.clock.monotonicMs,
    seesOwnSessions ? LOGIN.name : undefined,
  );
  const polls: ObservedPoll[] = [];
  const variants = new Variants();
  const exporter = stack.use(
    await startTestExporter({
      yaml: yamlOf(simulator, urls, dimensions),
      adapt: (config) => variants.begin(hasten(config, dimensions.slowness)),
      app: {
        collectors: observe(COLLECTORS, { polls, now: clocks.clock.monotonicMs }),
        clock: clocks.clock,
        random: () => RANDOM_SHARE * random.next(),
        load: async () => ({ config: variants.read(), warnings: [] }),
      },
    }),
  );
  return {
    dimensions,
    simulator,
    exporter,
    clocks,
    chronicle,
    polls,
    flights,
    variants,
    proxies,
    tokens,
    passInWorld(milliseconds) {
      // Timestamps of the wire have whole milliseconds.
      worldMs += Math.round(milliseconds);
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

function drawDimensions(random: Random): Omit<Dimensions, 'slowness'> {
  const paged = ['nodes', 'ranges', 'sessions'].filter(() => random.chance(0.3));
  return {
    gateways: random.integer(1, 3),
    maxConcurrentRequests: random.integer(1, 4),
    rangeConcurrency: random.integer(1, 3),
    // Pages of a node with several stores do not fit together: it fails, as it should.
    storesPerNode: paged.includes('ranges') ? 1 : random.integer(1, 4),
    pagedCollectors: new Set(paged),
    sessionsPageCap: random.chance(0.25) ? random.integer(2, 6) : 0,
    world: drawWorld(random),
  };
}

/** What is odd about the cluster from its beginning. */
function drawWorld(random: Random): Dimensions['world'] {
  return {
    relics: random.chance(0.3) ? random.integer(1, 3) : 0,
    relicsAtNodes: random.chance(0.5),
    nodeTier: random.chance(0.3),
    seesOwnSessions: random.chance(0.15),
  };
}

/** Requests whose time tells how slow the machine is, and what they take on a calm one. */
const SAMPLE_REQUESTS = 20;
const CALM_SAMPLE_MS = 100;

/**
 * How many times longer everything takes on this machine, now: 1 on a calm one. Without it deadlines of milliseconds
 * would measure the machine and not the exporter.
 */
async function measureSlowness(simulator: Simulator): Promise<number> {
  const startedAt = performance.now();
  for (let count = 0; count < SAMPLE_REQUESTS; count += 1) {
    const response = await fetch(`${simulator.clusterUrls[0]}/_status/vars`);
    await response.text();
  }
  return Math.max(1, (performance.now() - startedAt) / CALM_SAMPLE_MS);
}

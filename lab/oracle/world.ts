import { setImmediate as turnOfLoop, setTimeout as sleep } from 'node:timers/promises';
import type { FaultHandle } from '../../simulator/http/faults.ts';
import type { LoggedRequest } from '../../simulator/http/request-log.ts';
import { type Simulator, startSimulator } from '../../simulator/index.ts';
import { advanceLiveness } from '../../simulator/world/liveness.ts';
import type { Range } from '../../simulator/world/ranges.ts';
import type { WorldState } from '../../simulator/world/state.ts';
import type { World } from '../../simulator/world/world.ts';
import { applyChange } from './changes.ts';
import type { ChangedCluster } from './cluster.ts';
import { PLAIN_FORM, readabilityOf, type SentConnections } from './connections.ts';
import type { Change, Staleness, Start } from './history.ts';
import { placeZone } from './range-changes.ts';
import { Reads, type Shown } from './reads.ts';
import { isPlain, momentOf, type Moment } from './truth.ts';

type RangeState = Pick<WorldState, 'ranges' | 'removed'>;

/** Longer than the exporter pauses between two requests for descriptors. */
const QUIET_MS = 60;
const RANGE_ENDPOINTS = ['node_ranges', 'range_descriptors'];
const ALL_ENDPOINTS = [...RANGE_ENDPOINTS, 'nodes', 'connectivity'];

const START_MS = Date.UTC(2030, 0, 1);

/** A simulated cluster in which time passes only as a history says, and all that was true in it so far. */
export class OracleWorld implements ChangedCluster, AsyncDisposable {
  readonly simulator: Simulator;
  readonly start: Start;
  /** Descriptors are not refused. */
  isAdmitted = true;
  connections: SentConnections = { form: PLAIN_FORM, of: 0, to: 0 };
  readonly hiccups: ChangedCluster['hiccups'] = [];
  /** After each change; the first one before any. */
  readonly moments: Moment[] = [];
  /** What the exporter has read since it started, and what the running command has. */
  readonly reads: { exporter: Reads; command: Reads | undefined };
  /** What happened, for people. */
  readonly story: string[] = [];
  /** Called before each request. */
  onRequest: (request: LoggedRequest) => void = () => undefined;
  /** Called while the state is as the answer will show it, with the moment of that state. */
  onAnswer: (request: LoggedRequest, moment: number) => readonly Shown[] | undefined = () =>
    undefined;
  /** Called before an answer is repeated. */
  onRepeat: (shown: readonly Shown[]) => void = () => undefined;
  /** What the stale URL has answered, by path, and repeats. */
  readonly #repeated = new Map<string, readonly Shown[]>();
  #stale:
    | {
        readonly gateway: number;
        readonly how: Staleness;
        readonly frozen: RangeState | undefined;
        /** The moment of what it remembers. */
        readonly since: number;
      }
    | undefined;
  readonly #faults: FaultHandle[] = [];
  /** Its ranges, also while those of a URL that remembers old ones are shown. */
  #live: RangeState | undefined;
  readonly #clock: { elapsedMs: number };
  readonly #monotonicStartMs = performance.now();

  static async open(seed: number, start: Start): Promise<OracleWorld> {
    const clock = { elapsedMs: 0 };
    const opened: { world?: OracleWorld } = {};
    const simulator = await startSimulator({
      seed,
      nodes: start.nodes,
      storesPerNode: start.stores,
      gateways: start.gateways,
      ranges: start.ranges,
      replication: start.replication,
      sessions: 0,
      metricKeys: 'useful',
      faultyNodes: false,
      // Histories are about ranges of tables: system ranges are lost without an effect.
      quirks: {
        gzip: false,
        systemRangesLost: 'works',
        idleConnections: start.idleConnections ?? 'none',
      },
      now: () => START_MS + clock.elapsedMs,
      requestBegan: (request) => {
        clock.elapsedMs += start.requestMs;
        opened.world?.began(request);
      },
    });
    const world = new OracleWorld(simulator, start, clock);
    opened.world = world;
    for (const zone of start.zones) placeZone(world, zone);
    world.record(`${start.nodes} nodes, ${start.ranges} ranges`);
    return world;
  }

  private constructor(simulator: Simulator, start: Start, clock: { elapsedMs: number }) {
    this.simulator = simulator;
    this.start = start;
    this.#clock = clock;
    this.reads = { exporter: new Reads(this.state), command: undefined };
  }

  get world(): World {
    return this.simulator.world;
  }

  get state(): WorldState {
    return this.simulator.world.state;
  }

  /** The number of the present moment. */
  get now(): number {
    return this.moments.length - 1;
  }

  get elapsedMs(): number {
    return this.#clock.elapsedMs;
  }

  /** The clocks of an exporter in this world. */
  readonly clock = {
    wallMs: (): number => START_MS + this.#clock.elapsedMs,
    monotonicMs: (): number => this.#monotonicStartMs + this.#clock.elapsedMs,
    runningMs: (): number => this.#clock.elapsedMs,
  };

  /** Each node is up and reads live, or neither, now. */
  isPlain(): boolean {
    // Time alone may have changed who reads live.
    advanceLiveness(this.state);
    return isPlain(this.state);
  }

  #moment(): Moment {
    const { state, connections, start } = this;
    // A node that was suspected reads live again when its time is over, without a change.
    advanceLiveness(state);
    return momentOf(this.simulator, this.reads.exporter, {
      isLying: this.isLying,
      isAdmitted: this.isAdmitted,
      sinceMs: this.elapsedMs,
      connections: readabilityOf(state, connections, start.idleConnections),
    });
  }

  get isStale(): boolean {
    return this.#stale !== undefined;
  }

  /** A URL has answered with old lists at some time. */
  wasStale = false;

  /** Whether all that is asked can be read, from every URL. */
  get isReadable(): boolean {
    const isFailing = this.hiccups.some(({ times, fault }) => fault.hits < times);
    return this.#stale === undefined && this.isAdmitted && !isFailing;
  }

  /** Whether a stale URL calls its answers new. */
  get isLying(): boolean {
    return this.#stale !== undefined && this.#stale.how !== 'caches';
  }

  setStale(gateway?: number, how: Staleness = 'caches'): void {
    for (const fault of this.#faults.splice(0)) fault.remove();
    this.#stale = undefined;
    this.#repeated.clear();
    if (gateway === undefined) return;
    this.wasStale = true;
    const { ranges, removed } = this.state;
    const frozen = how === 'remembers' ? copyOf({ ranges, removed }) : undefined;
    this.#stale = { gateway, how, frozen, since: this.now };
    if (frozen !== undefined) return;
    const kind = how === 'caches' ? 'cached' : 'old';
    for (const endpoint of how === 'repeats-ranges' ? RANGE_ENDPOINTS : ALL_ENDPOINTS) {
      this.#faults.push(this.simulator.fault({ kind, endpoint, gateway }));
    }
  }

  /** Whether the answer to the request, which has just begun, will not arrive. */
  willFail(request: LoggedRequest): boolean {
    return this.hiccups.some(
      ({ endpoint, times, fault }) => endpoint === request.endpoint && fault.hits < times,
    );
  }

  /** Whether the answer to the request may be old. */
  isOld({ gateway, endpoint }: LoggedRequest): boolean {
    return gateway === this.#stale?.gateway && RANGE_ENDPOINTS.includes(endpoint);
  }

  began(request: LoggedRequest): void {
    this.#showLive();
    this.onRequest(request);
    if (!this.isOld(request)) {
      this.onAnswer(request, this.now);
      return;
    }
    const { frozen, since = this.now } = this.#stale ?? {};
    if (frozen === undefined) {
      // The exporter sees the age of what a cache repeats.
      if (this.isLying) this.#repeat(request);
      return;
    }
    const { ranges, removed } = this.state;
    this.#live = { ranges, removed };
    Object.assign(this.state, frozen);
    this.onAnswer(request, since);
    // The answer is made before anything else can happen.
    setImmediate(() => this.#showLive());
  }

  /** The first answer to a request is of its time, and all others repeat it. */
  #repeat(request: LoggedRequest): void {
    const before = this.#repeated.get(request.path);
    if (before !== undefined) return this.onRepeat(before);
    const shown = this.onAnswer(request, this.now);
    if (shown !== undefined) this.#repeated.set(request.path, shown);
  }

  #showLive(): void {
    if (this.#live !== undefined) Object.assign(this.state, this.#live);
    this.#live = undefined;
  }

  /** Resolves when the exporter has read what it reads between two polls: when it has asked for nothing for a while. */
  async quiet(): Promise<void> {
    const { requests } = this.simulator;
    let count = -1;
    while (count !== requests.count()) {
      count = requests.count();
      await sleep(QUIET_MS);
      // On a busy machine the sleep ends before what happened meanwhile was seen.
      for (let turn = 0; turn < 3; turn += 1) await turnOfLoop();
    }
  }

  wait(ms: number): void {
    this.#clock.elapsedMs += ms;
    this.record(`${ms / 1000} s pass`);
  }

  /** Applies a change, as far as there is something to change. */
  change(change: Change): void {
    const what = applyChange(this, change);
    if (what !== undefined) this.record(what);
  }

  record(what: string): void {
    this.moments.push(this.#moment());
    this.say(what, String(this.now));
  }

  say(what: string, moment = ''): void {
    const seconds = (this.elapsedMs / 1000).toFixed(1);
    this.story.push(`${moment.padStart(4)} ${seconds.padStart(8)} s  ${what}`);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.simulator.close();
  }
}

function copyOf({ ranges, removed }: RangeState): RangeState {
  return {
    ranges: new Map(Array.from(ranges, ([id, range]) => [id, copyOfRange(range)])),
    removed: [...removed],
  };
}

function copyOfRange(range: Range): Range {
  const replicas = range.replicas.map((replica) => ({
    ...replica,
    flags: new Set(replica.flags),
    passing: new Set(replica.passing),
  }));
  return { ...range, replicas, leases: [...range.leases], forced: new Set(range.forced) };
}

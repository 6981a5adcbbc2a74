import { readFileSync, writeFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';

/** The cost of a piece of work in its process. */
export interface Cost {
  readonly wallMs: number;
  /** CPU time of the event-loop thread; unlike wall time it excludes other programs. */
  readonly loopMs: number;
  /** CPU time of all threads, including garbage collection, compression and compilation. */
  readonly cpuMs: number;
  /** Delay of timers of one millisecond, in wall time. */
  readonly delayP99Ms: number;
  readonly delayMaxMs: number;
  /** The same in CPU time of the event-loop thread: the delay on an idle machine. */
  readonly busyP99Ms: number;
  readonly busyMaxMs: number;
}

const STEP_MS = 1;
const MIB = 1024;

export async function measure(work: () => unknown): Promise<Cost> {
  const delay = monitorEventLoopDelay({ resolution: STEP_MS });
  delay.enable();
  const busy = watchBusy();
  const used = await measureUse(work);
  // Only a timer after the work sees a block at its end.
  await new Promise((resolve) => setTimeout(resolve, 2 * STEP_MS));
  delay.disable();
  const late = busy.stop().toSorted((a, b) => a - b);
  return {
    ...used,
    delayP99Ms: Math.max(0, delay.percentile(99) / 1e6 - STEP_MS),
    delayMaxMs: Math.max(0, delay.max / 1e6 - STEP_MS),
    busyP99Ms: late[Math.floor(late.length * 0.99)] ?? 0,
    busyMaxMs: late.at(-1) ?? 0,
  };
}

/** Without timers, for short work. */
export async function measureUse(
  work: () => unknown,
): Promise<Pick<Cost, 'wallMs' | 'loopMs' | 'cpuMs'>> {
  const all = process.cpuUsage();
  const loop = process.threadCpuUsage();
  const startedAt = performance.now();
  await work();
  return {
    wallMs: performance.now() - startedAt,
    loopMs: milliseconds(process.threadCpuUsage(loop)),
    cpuMs: milliseconds(process.cpuUsage(all)),
  };
}

function milliseconds({ user, system }: NodeJS.CpuUsage): number {
  return (user + system) / 1000;
}

/** Collects the CPU time of the event-loop thread between two timers, above their interval. */
function watchBusy(): { stop(): readonly number[] } {
  const late: number[] = [];
  let before = process.threadCpuUsage();
  function look(): void {
    late.push(Math.max(0, milliseconds(process.threadCpuUsage(before)) - STEP_MS));
    before = process.threadCpuUsage();
    timer.refresh();
  }
  const timer = setTimeout(look, STEP_MS);
  return {
    stop() {
      clearTimeout(timer);
      return late;
    },
  };
}

/** Handlers for `serveCalls`: `watch` measures this process until `stop` is called. */
export function selfWatch(): { watch(): Promise<Cost>; stop(): void } {
  let stopped = Promise.withResolvers<void>();
  return {
    watch: () => measure(() => stopped.promise),
    stop() {
      stopped.resolve();
      stopped = Promise.withResolvers();
    },
  };
}

/** Completes the start of this process and resets its peak resident memory (Linux). */
export async function settle(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 200));
  globalThis.gc?.();
  writeFileSync('/proc/self/clear_refs', '5');
}

/** Resident memory of a process in MiB, current and peak (Linux). */
export function residentMib(pid: number | 'self' = 'self'): { now: number; peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const read = (field: string): number =>
    Number(new RegExp(`^${field}:\\s*(\\d+) kB`, 'm').exec(status)?.[1]) / MIB;
  return { now: read('VmRSS'), peak: read('VmHWM') };
}

export interface Spread {
  readonly low: number;
  readonly median: number;
  readonly high: number;
}

export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.round(share * (sorted.length - 1))] ?? NaN;
  return { low: at(0), median: at(0.5), high: at(1) };
}

/** `57 (48–69)`: the median, and the lowest and highest value. */
export function describeSpread(values: readonly number[], digits = 0): string {
  const { low, median, high } = spreadOf(values);
  return `${median.toFixed(digits)} (${low.toFixed(digits)}–${high.toFixed(digits)})`;
}

/** Runs the implementations in turns, so that other load affects all of them; values by implementation. */
export async function takeTurns<Value>(
  ways: Readonly<Record<string, () => Promise<Value> | Value>>,
  { rounds, warmUps = 2 }: { readonly rounds: number; readonly warmUps?: number },
): Promise<Readonly<Record<string, readonly Value[]>>> {
  const values: Record<string, Value[]> = {};
  for (let round = -warmUps; round < rounds; round += 1) {
    for (const [name, way] of Object.entries(ways)) {
      const value = await way();
      if (round >= 0) (values[name] ??= []).push(value);
    }
  }
  return values;
}

/** The ratio of the cost of the usual implementation to ours, pair by pair, because each pair ran at the same time. */
export class Comparison {
  readonly #own: readonly Use[];
  readonly #usual: readonly Use[];

  constructor(own: readonly Use[], usual: readonly Use[]) {
    this.#own = own;
    this.#usual = usual;
  }

  ratios(part: keyof Use): readonly number[] {
    return this.#own.map((own, at) => (this.#usual[at]?.[part] ?? NaN) / own[part]);
  }

  /** By CPU time of the event-loop thread: the machine may be shared. */
  get median(): number {
    return spreadOf(this.ratios('loopMs')).median;
  }

  get text(): string {
    const [loop, cpu, wall] = (['loopMs', 'cpuMs', 'wallMs'] as const).map((part) =>
      describeSpread(this.ratios(part), 1),
    );
    return `**${loop} ×**, all threads ${cpu} ×, wall clock ${wall} ×`;
  }
}

type Use = Pick<Cost, 'wallMs' | 'loopMs' | 'cpuMs'>;

/** `57 (48–69) ms, CPU …`: the cost of one implementation. */
export function describeUse(uses: readonly Use[], bytes?: number): string {
  const list = (part: keyof Use): number[] => uses.map((use) => use[part]);
  const loop = list('loopMs');
  const rate =
    bytes === undefined ? '' : `, ${(bytes / 1e3 / spreadOf(loop).median).toFixed(0)} MB/s`;
  return `${describeSpread(loop)} ms${rate} (all threads ${describeSpread(list('cpuMs'))}, wall clock ${describeSpread(list('wallMs'))})`;
}

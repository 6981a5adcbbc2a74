import { runSafeToStop } from './command.ts';
import { WatchingExporter } from './exporter.ts';
import type { Change, History, Inside, Step } from './history.ts';
import { Judge } from './judge.ts';
import { Reads } from './reads.ts';
import { type FalseAlarm, isFailure, type FaultyYes, type Tally } from './verdicts.ts';
import { OracleWorld } from './world.ts';

export interface Played {
  readonly history: History;
  readonly tally: Tally;
  readonly faults: readonly FaultyYes[];
  readonly falseAlarms: readonly FalseAlarm[];
  readonly mismatches: readonly string[];
  readonly story: readonly string[];
  readonly log: string;
}

/** Plays a history to its end, and judges all that is said meanwhile. */
export async function play(
  history: History,
  onEnd: (world: OracleWorld) => void = () => undefined,
): Promise<Played> {
  await using world = await OracleWorld.open(history.seed, history.start);
  const judge = new Judge(world);
  const player = new Player(world, judge);
  await using stack = new AsyncDisposableStack();
  stack.defer(() => player.stop());
  await player.startExporter();
  for (const step of history.steps) await player.take(step);
  const { tally, faults, falseAlarms, mismatches } = judge;
  onEnd(world);
  const { story } = world;
  return { history, tally, faults, falseAlarms, mismatches, story, log: player.log() };
}

/** Whether what happened in a history contradicts the contract. */
export function failureOf({ faults, falseAlarms, mismatches }: Played): string | undefined {
  const fault = faults.find((each) => isFailure(each.fault));
  const [alarm] = falseAlarms;
  if (fault === undefined && alarm !== undefined) return `false: ${alarm.why}`;
  if (fault === undefined) return mismatches[0];
  return `${fault.surface}: yes for node ${fault.nodeId}, ${fault.fault}: ${fault.why}`;
}

class Player {
  readonly #world: OracleWorld;
  readonly #judge: Judge;
  #exporter: WatchingExporter | undefined;

  constructor(world: OracleWorld, judge: Judge) {
    this.#world = world;
    this.#judge = judge;
    this.#arm(undefined);
  }

  async startExporter(): Promise<void> {
    await this.stop();
    this.#world.reads.exporter = new Reads(this.#world.state);
    this.#judge.exporterStarted();
    this.#world.say('the exporter starts');
    this.#exporter = await WatchingExporter.start(this.#world);
  }

  async stop(): Promise<void> {
    await this.#exporter?.[Symbol.asyncDispose]();
    this.#exporter = undefined;
  }

  log(): string {
    return this.#exporter?.log() ?? '';
  }

  async take(step: Step): Promise<void> {
    switch (step.kind) {
      case 'poll':
        return this.#poll(step);
      case 'command':
        return this.#command(step.inside);
      case 'wait':
        return this.#world.wait(1000 * step.seconds);
      case 'restart-exporter':
        return this.startExporter();
      default:
        return this.#change(step);
    }
  }

  #change(change: Change): void {
    const before = this.#world.now;
    this.#world.change(change);
    if (this.#world.now !== before) this.#judge.disturbed();
  }

  async #poll({ order, inside }: Extract<Step, { readonly kind: 'poll' }>): Promise<void> {
    const exporter = this.#exporter;
    if (exporter === undefined) return;
    this.#arm(inside);
    for (const name of order) {
      const wasPlain = this.#world.isPlain() && this.#world.isReadable;
      if (!wasPlain) this.#judge.disturbed();
      await exporter.poll(name);
      const seen = await exporter.look();
      this.#world.say(`polled ${name}`);
      if (name === 'ranges') {
        const isComplete = seen.metrics.value('crdb_ranges_unverified') !== undefined;
        this.#judge.scanned(isComplete && wasPlain, exporter.began.get(name) ?? 0);
      }
      this.#judge.judge(seen, exporter);
    }
    this.#arm(undefined);
  }

  async #command(inside: Inside | undefined): Promise<void> {
    this.#world.reads.command = new Reads(this.#world.state);
    this.#arm(inside);
    const from = this.#world.now;
    const said = await runSafeToStop(this.#world.simulator, {
      wait: (ms) => this.#world.wait(ms),
      wallMs: this.#world.clock.wallMs,
    });
    this.#arm(undefined);
    this.#world.reads.command = undefined;
    this.#world.say(`command: ${said.nodes.join()}; ${said.notes.trim().split('\n').join(' | ')}`);
    this.#judge.judgeCommand(said, from);
  }

  /** Lets the changes of `inside` happen before its request from now on. */
  #arm(inside: Inside | undefined): void {
    let count = 0;
    this.#world.onRequest = (request) => {
      if (inside !== undefined && count === inside.before) {
        this.#world.say(`before ${request.path.slice(0, 60)} at node ${request.gateway}:`);
        for (const change of inside.changes) this.#change(change);
      }
      count += 1;
    };
    const reader = (): Reads => this.#world.reads.command ?? this.#world.reads.exporter;
    this.#world.onAnswer = (request, moment) =>
      this.#world.willFail(request) ? undefined : reader().requested(request, moment);
    this.#world.onRepeat = (shown) => reader().show(shown);
  }
}

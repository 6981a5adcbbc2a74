import { isReachable } from '../../simulator/world/nodes.ts';
import { listedNodes } from '../../simulator/world/state.ts';
import { describe } from './changes.ts';
import type { Said } from './command.ts';
import type { Seen, WatchingExporter } from './exporter.ts';
import { compareFigures } from './figures.ts';
import type { Polled } from './history.ts';
import type { Answers } from './rule.ts';
import { type Fault, type FaultyYes, isFailure, type Surface, Tally } from './verdicts.ts';
import type { OracleWorld } from './world.ts';

/** The exporter scans each minute; after a longer pause everything it knows is old. */
const MAX_PAUSE_MS = 200_000;

/** Any range. */
const isAny = (): boolean => true;

/** Compares what is said of a world with what is true in it. */
export class Judge {
  readonly tally = new Tally();
  readonly faults: FaultyYes[] = [];
  /** Figures that differ from the truth, and answers that differ between page and rule. */
  readonly mismatches: string[] = [];
  readonly #world: OracleWorld;
  /** Scans in a row since something happened, by the exporter that runs. */
  #calmScans = 0;
  #lastChange = 0;
  /** By surface and node: the scans in a row with a wrong yes while a URL is stale, and the last of them. */
  readonly #streaks = new Map<string, { readonly count: number; readonly scan: number }>();
  #scans = 0;
  #lastScanMs = 0;

  constructor(world: OracleWorld) {
    this.#world = world;
  }

  /** Something happened. */
  disturbed(): void {
    this.#calmScans = 0;
    this.#lastChange = this.#world.now;
  }

  exporterStarted(): void {
    this.#calmScans = 0;
    this.#streaks.clear();
  }

  /** A scan that began at this moment has ended; `isWhole`: it read all nodes of a world that looks like what it is. */
  scanned(isWhole: boolean, began: number): void {
    this.#scans += 1;
    const isLate = this.#world.elapsedMs - this.#lastScanMs > MAX_PAUSE_MS;
    this.#lastScanMs = this.#world.elapsedMs;
    if (!isWhole || this.#lastChange > began) this.#calmScans = 0;
    else this.#calmScans = isLate ? 1 : this.#calmScans + 1;
  }

  /** Looks at what an exporter says after a poll. */
  judge(seen: Seen, exporter: WatchingExporter): void {
    const beganAt = (name: Polled): number => exporter.began.get(name) ?? this.#world.now;
    const beforeNetwork = Math.min(beganAt('nodes'), beganAt('ranges'));
    const from = Math.min(beforeNetwork, beganAt('network'));
    this.tally.polls += 1;
    for (const [surface, answers] of [
      ['page', seen.page],
      ['rule', seen.rule],
    ] as const) {
      this.tally.count(surface, answers);
      for (const [nodeId, { answer }] of answers) {
        if (answer === 'yes') this.#judgeYes(surface, nodeId, from, beforeNetwork);
      }
      this.#judgeCalm(surface, answers, exporter, seen.reason);
    }
    this.#compareAnswers(seen);
    const isKnown =
      !this.#world.isStale &&
      this.#world.state.cutPairs.size === 0 &&
      !this.#world.reads.exporter.hasHidden();
    const isSettled = this.#calmScans > 0 && isKnown && this.#isPlain();
    if (isSettled && seen.metrics.value('crdb_ranges_unverified') === 0) {
      this.tally.compared += 1;
      const differences = compareFigures(seen.metrics, this.#world, this.#calmScans);
      for (const difference of differences) this.#world.say(`!!! ${difference}`);
      this.mismatches.push(...differences);
    }
  }

  judgeCommand({ nodes }: Said, from: number): void {
    this.tally.commands += 1;
    const answers = new Map(nodes.map((id) => [id, { answer: 'yes' as const }]));
    this.tally.count('command', answers);
    for (const nodeId of nodes) this.#judgeYes('command', nodeId, from, from);
  }

  #judgeYes(surface: Surface, nodeId: number, from: number, beforeNetwork: number): void {
    const { moments, state, now } = this.#world;
    const reads = surface === 'command' ? undefined : this.#world.reads.exporter;
    /** Whether the stop was unsafe at every moment because of such ranges. */
    const isAlways = (
      since: number,
      isMeant: (rangeId: number, moment: number) => boolean,
    ): boolean =>
      moments.every(
        ({ unsafe }, moment) =>
          moment < since || unsafe.get(nodeId)?.some((id) => isMeant(id, moment)) === true,
      );
    const isKnowable = (id: number, moment: number): boolean =>
      reads === undefined || moments[moment]?.hidden.has(id) !== true || reads.hasShown(id, moment);
    const isOutside = (id: number, moment: number): boolean =>
      isKnowable(id, moment) || moments[moment]?.hidden.get(id) === 'down';
    const evidence = moments.slice(from);
    const excused = (fault: Fault): Fault => {
      if (!evidence.some(({ isLying }) => isLying)) return fault;
      // A command is not asked again.
      return surface !== 'command' && !this.#isLasting(surface, nodeId) ? 'stale' : 'lasting';
    };
    if (!isAlways(beforeNetwork, isAny)) {
      if (!evidence.every(({ forbidden }) => forbidden.has(nodeId))) return;
      this.#add(surface, nodeId, excused('forbidden'), 'it leaves, or another node drains');
      return;
    }
    const culprits = moments[now]?.unsafe.get(nodeId) ?? [];
    const named = culprits.slice(0, 3).map((id) => {
      const range = state.ranges.get(id);
      return `range ${id} on ${range === undefined ? 'no node' : describe(range)}`;
    });
    const why = `${culprits.length} ranges need it or are damaged: ${named.join('; ')}`;
    const add = (fault: Fault): void => this.#add(surface, nodeId, fault, why);
    if (!isAlways(from, isAny)) add('network');
    else if (!isAlways(from, isOutside)) add('window');
    else add(excused(isAlways(from, isKnowable) ? 'wrong' : 'hidden'));
  }

  #add(surface: Surface, nodeId: number, fault: Fault, why: string): void {
    const faulty = { surface, fault, nodeId, moment: this.#world.now, why };
    this.faults.push(faulty);
    this.tally.countFault(faulty);
    const mark = isFailure(fault) ? '!!!' : '···';
    this.#world.say(`${mark} ${surface}: yes for node ${nodeId}, ${fault}: ${why}`);
  }

  /** Whether the scan before had the same wrong yes. */
  #isLasting(surface: Surface, nodeId: number): boolean {
    const key = `${surface} ${nodeId}`;
    const before = this.#streaks.get(key);
    if (before?.scan === this.#scans) return before.count > 1;
    const count = before?.scan === this.#scans - 1 ? before.count + 1 : 1;
    this.#streaks.set(key, { count, scan: this.#scans });
    return count > 1;
  }

  #judgeCalm(
    surface: Surface,
    answers: Answers,
    exporter: WatchingExporter,
    reason: string | undefined,
  ): void {
    const { moments, now, simulator, isReadable } = this.#world;
    const isRead = [...exporter.began.values()].every((began) => began >= this.#lastChange);
    const moment = moments[now];
    if (
      this.#calmScans < 2 ||
      !isRead ||
      !exporter.isUpToDate() ||
      moment === undefined ||
      !isReadable
    )
      return;
    if (!this.#isPlain() || moment.cutPairs > 0) return;
    for (const { id } of listedNodes(simulator.world.state).filter(isReachable)) {
      if (moment.unsafe.has(id) || moment.forbidden.has(id)) continue;
      const decision = answers.get(id) ?? { answer: 'unknown' as const, reason };
      this.tally.countCalm(surface, decision.answer, decision.reason);
      if (decision.answer !== 'yes') {
        this.#world.say(
          `··· ${surface}: ${decision.answer} for node ${id} in a calm world: ${decision.reason}`,
        );
      }
    }
  }

  #isPlain(): boolean {
    return this.#world.moments[this.#world.now]?.isPlain === true;
  }

  /** Page and rule decide alike, but for what the rule learns from scans before. */
  #compareAnswers({ page, rule, reason }: Seen): void {
    for (const [nodeId, { answer, reason: why = reason }] of page) {
      const other = rule.get(nodeId)?.answer ?? 'unknown';
      if (other === answer || why?.includes('disagree')) continue;
      this.mismatches.push(
        `node ${nodeId}: page ${answer} (${why}), rule ${other} (${rule.get(nodeId)?.reason})`,
      );
    }
  }
}

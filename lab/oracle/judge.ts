import { isReachable } from '../../simulator/world/nodes.ts';
import { listedNodes } from '../../simulator/world/state.ts';
import { type Alarm, alarmsOf, isRight } from './alarms.ts';
import type { Said } from './command.ts';
import type { Readability } from './connections.ts';
import type { Seen, WatchingExporter } from './exporter.ts';
import { compareFigures } from './figures.ts';
import type { Polled } from './history.ts';
import { describe } from './range-changes.ts';
import type { Answers } from './rule.ts';
import {
  type FalseAlarm,
  type Fault,
  type FaultyYes,
  isFailure,
  type Surface,
  Tally,
} from './verdicts.ts';
import type { OracleWorld } from './world.ts';

/** The exporter scans each minute; after a longer pause everything it knows is old. */
const MAX_PAUSE_MS = 200_000;

/** How old the record of a node may be. */
const RECORD_MS = 10_000;

/** Any range. */
const isAny = (): boolean => true;

/** Compares what is said of a world with what is true in it. */
export class Judge {
  readonly tally = new Tally();
  readonly faults: FaultyYes[] = [];
  readonly falseAlarms: FalseAlarm[] = [];
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
    const from = Math.min(beforeNetwork, beganAt('network'), this.#writtenAt(exporter));
    this.tally.polls += 1;
    for (const [surface, answers] of [
      ['page', seen.page],
      ['rule', seen.rule],
    ] as const) {
      this.tally.count(surface, answers);
      for (const [nodeId, { answer }] of answers) {
        if (answer !== 'yes') continue;
        this.#judgeYes(surface, nodeId, from, beforeNetwork);
        this.#judgeBlindYes(surface, nodeId, {
          list: beganAt('network'),
          counts: beganAt('nodes'),
        });
      }
      this.#judgeCalm(surface, answers, exporter, seen.reason);
    }
    this.#compareAnswers(seen);
    const firing = alarmsOf(seen.metrics).map((alarm) => ({ alarm, text: 'its expression' }));
    for (const each of firing) this.#judgeAlarm('rule', each, beforeNetwork);
    for (const each of seen.alarms) this.#judgeAlarm('page', each, beforeNetwork);
    const isKnown =
      !this.#world.isStale &&
      this.#world.state.cutPairs.size === 0 &&
      !this.#world.reads.exporter.hasHidden();
    const isSettled = this.#calmScans > 0 && isKnown && this.#isPlain();
    if (isSettled && seen.metrics.value('crdb_ranges_unverified') === 0) {
      this.tally.compared += 1;
      const differences = compareFigures(
        seen.metrics,
        this.#world,
        this.#calmScans,
        beganAt('ranges'),
      );
      for (const difference of differences) this.#world.say(`!!! ${difference}`);
      this.mismatches.push(...differences);
    }
  }

  /** Where nodes only count their connections, these are as old as their records: the moment 10 s before the list of nodes. */
  #writtenAt({ began }: WatchingExporter): number {
    const { moments, now } = this.#world;
    const [list = now, network = now] = [began.get('nodes'), began.get('network')];
    const isListed = moments
      .slice(network)
      .every(({ connections }) => connections.list !== 'missing');
    if (isListed) return now;
    const writtenMs = (moments[list]?.sinceMs ?? 0) - RECORD_MS;
    return Math.max(
      0,
      moments.findLastIndex(({ sinceMs }) => sinceMs <= writtenMs),
    );
  }

  judgeCommand({ nodes, notes }: Said, from: number): void {
    this.tally.commands += 1;
    const answers = new Map(nodes.map((id) => [id, { answer: 'yes' as const }]));
    this.tally.count('command', answers);
    for (const nodeId of nodes) {
      this.#judgeYes('command', nodeId, from, from, notes);
      this.#judgeBlindYes('command', nodeId, { list: from, counts: from }, notes);
    }
  }

  /** A yes although nothing was known of connections since they were read; where there are none to know, a command may say so. */
  #judgeBlindYes(
    surface: Surface,
    nodeId: number,
    since: { readonly list: number; readonly counts: number },
    notes = '',
  ): void {
    const { moments } = this.#world;
    const lists = new Set(moments.slice(since.list).map(({ connections }) => connections.list));
    if (lists.has('readable')) return;
    const isCounted = moments.slice(since.counts).some(({ connections }) => connections.isCounted);
    if (lists.has('missing') && (isCounted || notes.includes('connections not checked'))) return;
    // A URL that repeats old answers repeats those about connections, too; where the others have none, these are all that is known.
    const isLying = moments
      .slice(Math.min(since.list, since.counts))
      .some((moment) => moment.isLying);
    const why = `connections are ${[...lists].join(' or ')}`;
    this.#add(surface, nodeId, isLying ? 'stale' : 'blind', why);
  }

  /**
   * Whether the contract lets a command say yes over a pair that is cut: by the world, not by what the command prints, nothing told of
   * connections since it began, no list and no count; and the command said so.
   */
  #mayBeUnchecked(surface: Surface, from: number, notes: string): boolean {
    if (surface !== 'command' || !notes.includes('connections not checked')) return false;
    // The command says so of the moment at which it has read them.
    return this.#world.moments
      .slice(from)
      .some(
        ({ connections, cutPairs }) =>
          cutPairs > 0 && connections.list === 'missing' && !connections.isCounted,
      );
  }

  #judgeAlarm(
    surface: Surface,
    { alarm, text }: { readonly alarm: Alarm; readonly text: string },
    from: number,
  ): void {
    const evidence = this.#world.moments.slice(from);
    if (evidence.some(({ outages }) => isRight(alarm, outages, surface))) {
      this.tally.countAlarm(surface, 'right');
      return;
    }
    // Old lists may have been read long before.
    const isExcused = this.#world.wasStale;
    this.tally.countAlarm(surface, isExcused ? 'excused' : 'false');
    const why = `${alarm} on the ${surface}: ${text}`;
    this.#world.say(`${isExcused ? '···' : '!!!'} there is nothing to ${why}`);
    if (!isExcused) this.falseAlarms.push({ surface, alarm, moment: this.#world.now, why });
  }

  #judgeYes(
    surface: Surface,
    nodeId: number,
    from: number,
    beforeNetwork: number,
    notes = '',
  ): void {
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
    const excused = (fault: Fault): Fault => this.#excused(fault, surface, nodeId, from);
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
    else if (!culprits.some((id) => isAlways(beforeNetwork, (range) => range === id)))
      add('crossed');
    else if (!isAlways(from, isOutside)) add('window');
    else if (this.#mayBeUnchecked(surface, from, notes)) add('unchecked');
    else add(excused(isAlways(from, isKnowable) ? 'wrong' : 'hidden'));
  }

  /** The fault, or what it counts as while a URL has repeated old answers since that moment. */
  #excused(fault: Fault, surface: Surface, nodeId: number, from: number): Fault {
    if (!this.#world.moments.slice(from).some(({ isLying }) => isLying)) return fault;
    // A command is not asked again.
    return surface !== 'command' && !this.#isLasting(surface, nodeId) ? 'stale' : 'lasting';
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
    if (!this.#isPlain() || moment.cutPairs > 0 || !areKnowable(moment.connections)) return;
    // What a node claims is damage.
    if (moment.outages.reported.has('unavailable')) return;
    for (const { id, membership } of listedNodes(simulator.world.state).filter(isReachable)) {
      if (moment.unsafe.has(id) || moment.forbidden.has(id)) continue;
      if (membership !== 'active' && moment.holdingLeftOvers.has(id)) continue;
      const decision = answers.get(id) ?? { answer: 'unknown' as const, reason };
      this.tally.countCalm(surface, decision.answer, moment.isWide, decision.reason);
      if (decision.answer === 'yes') continue;
      const what = `${surface}: ${decision.answer} for node ${id} in a calm world: ${decision.reason}`;
      this.#world.say(`··· ${what}`);
      // Voters that have changed in place are not seen at once.
      const isKnown = !this.#world.reads.exporter.hasHidden();
      if (decision.answer === 'no' && isKnown) this.mismatches.push(what);
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

/** Whether it can be known that live nodes reach each other. */
function areKnowable({ list, isCounted }: Readability): boolean {
  return list === 'readable' || (list === 'missing' && isCounted);
}

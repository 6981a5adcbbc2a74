import type { Alarm } from './alarms.ts';
import type { Answer, Answers } from './rule.ts';

/** Where an answer is read. */
export type Surface = (typeof SURFACES)[number];
const SURFACES = ['page', 'rule', 'command'] as const;
const ANSWERS = ['yes', 'no', 'unknown'] as const;
/** `excused`: a URL answered with old lists. */
const ALARM_VERDICTS = ['right', 'false', 'excused'] as const;
type AlarmVerdict = (typeof ALARM_VERDICTS)[number];

/**
 * Why a yes is not right. `wrong`: the stop would have been unsafe at every moment since the evidence was begun. `window`: so, but
 * voters have changed in place. `hidden`: so, but the same while a node of the range is down. `stale`: so, while a URL answers with old lists, once. `network`: so, but the connections were
 * read before. `crossed`: so, but no range alone needed the node at each of these moments: one was repaired as another lost a voter. `unchecked`: so, over a pair that is cut, by a command that said that nothing tells of connections. `blind`: nobody could know whether live nodes reach each other. `forbidden`: the stop is safe, but the node leaves and holds replicas, or another one drains.
 */
const FAULTS = [
  'wrong',
  'lasting',
  'forbidden',
  'window',
  'hidden',
  'stale',
  'network',
  'crossed',
  'unchecked',
  'blind',
] as const;
export type Fault = (typeof FAULTS)[number];

/** What contradicts the contract. */
const FAILURES: ReadonlySet<Fault> = new Set(['wrong', 'hidden', 'lasting', 'forbidden', 'blind']);

export function isFailure(fault: Fault): boolean {
  return FAILURES.has(fault);
}

export interface FaultyYes {
  readonly surface: Surface;
  readonly fault: Fault;
  readonly nodeId: number;
  /** The moment of the answer. */
  readonly moment: number;
  readonly why: string;
}

/** A critical alert or finding of ranges while there was nothing to it since its evidence was begun. */
export interface FalseAlarm {
  readonly surface: Surface;
  readonly alarm: Alarm;
  readonly moment: number;
  readonly why: string;
}

/** The counts of a tally, as one process sends them to another. */
export interface TallyCounts {
  readonly counts: readonly (readonly [key: string, count: number])[];
  readonly reasons: readonly (readonly [reason: string, count: number])[];
  readonly commands: number;
  readonly polls: number;
  readonly compared: number;
}

/** Answers counted. */
export class Tally {
  /** `page yes`, `page faulty window`, `rule calm unknown`: how many. */
  readonly #counts = new Map<string, number>();
  /** Why nodes that may stop did not get a yes while nothing happened for two scans and all could be read. */
  readonly #reasons = new Map<string, number>();
  commands = 0;
  polls = 0;
  /** Scans whose figures were compared with the truth. */
  compared = 0;

  count(surface: Surface, answers: Answers): void {
    for (const { answer } of answers.values()) increase(this.#counts, `${surface} ${answer}`);
  }

  /** `isWide`: in a world that has ranges with 7 to 9 replicas, whose answers are counted by themselves, too. */
  countCalm(surface: Surface, answer: Answer, isWide: boolean, reason = 'no reason'): void {
    increase(this.#counts, `${surface} calm ${answer}`);
    if (isWide) increase(this.#counts, `${surface} wide ${answer}`);
    if (answer === 'yes') return;
    const where = isWide ? ', 7 to 9 replicas' : '';
    increase(
      this.#reasons,
      `${surface} ${answer}${where}: ${reason.replaceAll(/\d[\d.,]*/g, 'N')}`,
    );
  }

  countAlarm(surface: Surface, verdict: AlarmVerdict): void {
    increase(this.#counts, `${surface} alarm ${verdict}`);
  }

  /** How many answers were judged while it was calm, on page and rule. */
  countCalmAnswers(which: 'calm' | 'wide', answers: readonly Answer[] = ANSWERS): number {
    return answers.reduce(
      (total, answer) =>
        total + this.#of(`page ${which} ${answer}`) + this.#of(`rule ${which} ${answer}`),
      0,
    );
  }

  /** The share of them that are not known. */
  calmUnknownShare(which: 'calm' | 'wide'): number {
    return this.countCalmAnswers(which, ['unknown']) / Math.max(1, this.countCalmAnswers(which));
  }

  #of(key: string): number {
    return this.#counts.get(key) ?? 0;
  }

  toCounts(): TallyCounts {
    const { commands, polls, compared } = this;
    return { counts: [...this.#counts], reasons: [...this.#reasons], commands, polls, compared };
  }

  countFault({ surface, fault }: FaultyYes): void {
    increase(this.#counts, `${surface} faulty ${fault}`);
  }

  /** Adds the counts of another one. */
  add({ counts, reasons, commands, polls, compared }: TallyCounts): void {
    for (const [key, count] of counts) increase(this.#counts, key, count);
    for (const [key, count] of reasons) increase(this.#reasons, key, count);
    this.commands += commands;
    this.polls += polls;
    this.compared += compared;
  }

  toText(): string {
    const list = (prefix: string, names: readonly string[]): string =>
      names.map((name) => `${name} ${this.#of(`${prefix} ${name}`)}`).join(', ');
    const calmLine = (surface: Surface, which: 'calm' | 'wide'): readonly string[] => {
      const prefix = `${surface} ${which}`;
      const total = ANSWERS.reduce((sum, answer) => sum + this.#of(`${prefix} ${answer}`), 0);
      if (total === 0) return [];
      const share = ((100 * this.#of(`${prefix} unknown`)) / total).toFixed(2);
      const where = which === 'wide' ? ', 7 to 9 replicas' : '';
      return [`${surface}, calm and safe${where}: ${list(prefix, ANSWERS)}; not known ${share} %`];
    };
    const lines = SURFACES.flatMap((surface) => [
      `${surface}: ${list(surface, ANSWERS)}; faulty yes: ${list(`${surface} faulty`, FAULTS)}`,
      ...calmLine(surface, 'calm'),
      ...calmLine(surface, 'wide'),
      ...(surface === 'command'
        ? []
        : [`${surface}, critical of ranges: ${list(`${surface} alarm`, ALARM_VERDICTS)}`]),
    ]);
    const reasons = [...this.#reasons].toSorted(([, a], [, b]) => b - a);
    return [
      `${this.polls} polls, ${this.commands} commands, ${this.compared} scans compared`,
      ...lines,
      ...reasons.map(([reason, count]) => `  ${count} × ${reason}`),
    ].join('\n');
  }
}

function increase(counts: Map<string, number>, key: string, by = 1): void {
  counts.set(key, (counts.get(key) ?? 0) + by);
}

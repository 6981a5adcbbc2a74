import type { Answer, Answers } from './rule.ts';

/** Where an answer is read. */
export type Surface = (typeof SURFACES)[number];
const SURFACES = ['page', 'rule', 'command'] as const;
const ANSWERS = ['yes', 'no', 'unknown'] as const;

/**
 * Why a yes is not right. `wrong`: the stop would have been unsafe at every moment since the evidence was begun. `window`: so, but
 * voters have changed in place. `hidden`: so, but the same while a node of the range is down. `stale`: so, while a URL answers with old lists, once. `network`: so, but the connections were
 * read before. `forbidden`: the stop is safe, but the node leaves and holds replicas, or another one drains.
 */
const FAULTS = ['wrong', 'lasting', 'forbidden', 'window', 'hidden', 'stale', 'network'] as const;
export type Fault = (typeof FAULTS)[number];

/** What contradicts the contract. */
const FAILURES: ReadonlySet<Fault> = new Set(['wrong', 'hidden', 'lasting', 'forbidden']);

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

  countCalm(surface: Surface, answer: Answer, reason = 'no reason'): void {
    increase(this.#counts, `${surface} calm ${answer}`);
    if (answer === 'yes') return;
    increase(this.#reasons, `${surface} ${answer}: ${reason.replaceAll(/\d[\d.,]*/g, 'N')}`);
  }

  countFault({ surface, fault }: FaultyYes): void {
    increase(this.#counts, `${surface} faulty ${fault}`);
  }

  /** Adds the counts of another one. */
  add(other: Tally): void {
    for (const [key, count] of other.#counts) increase(this.#counts, key, count);
    for (const [key, count] of other.#reasons) increase(this.#reasons, key, count);
    this.commands += other.commands;
    this.polls += other.polls;
    this.compared += other.compared;
  }

  toText(): string {
    const of = (key: string): number => this.#counts.get(key) ?? 0;
    const list = (prefix: string, names: readonly string[]): string =>
      names.map((name) => `${name} ${of(`${prefix} ${name}`)}`).join(', ');
    const lines = SURFACES.flatMap((surface) => {
      const all = `${surface}: ${list(surface, ANSWERS)}; faulty yes: ${list(`${surface} faulty`, FAULTS)}`;
      const prefix = `${surface} calm`;
      const total = ANSWERS.reduce((sum, answer) => sum + of(`${prefix} ${answer}`), 0);
      const share = ((100 * of(`${prefix} unknown`)) / total).toFixed(2);
      if (total === 0) return [all];
      return [all, `${surface}, calm and safe: ${list(prefix, ANSWERS)}; not known ${share} %`];
    });
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

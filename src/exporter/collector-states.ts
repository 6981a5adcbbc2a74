import { CollectError, type Collector, type Poll } from '../collectors/collector.ts';
import type { PollStats } from '../http/poll-stats.ts';

/** What the collectors of a cluster API keep from poll to poll: lease sequences, first-seen times, the last backup … */
export class CollectorStates {
  readonly #kept: { readonly collector: Collector; readonly state: object }[] = [];
  /** How often another cluster was noticed, and by which poll the last time. */
  #drops = 0;
  #noticedBy: PollStats | undefined;

  add(collector: Collector, state: unknown): void {
    if (typeof state === 'object' && state !== null) this.#kept.push({ collector, state });
  }

  /** Another cluster answers. States are replaced in place, so that the poll that noticed it goes on with an empty one. */
  drop(noticedBy: PollStats): void {
    this.#drops += 1;
    this.#noticedBy = noticedBy;
    for (const { collector, state } of this.#kept) Object.assign(state, collector.createState());
  }

  /** Fails a poll beside which another one noticed the new cluster: it may have read both. */
  async poll<Result>(context: Poll, collect: () => Promise<Result>): Promise<Result> {
    const drops = this.#drops;
    const result = await collect();
    if (this.#drops === drops || this.#noticedBy === context) return result;
    throw new CollectError('other', 'the cluster was replaced during the poll');
  }
}

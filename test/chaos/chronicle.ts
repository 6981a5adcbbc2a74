import type { Simulator } from '../../simulator/index.ts';
import { type Expectations, expectAll } from './oracle/oracle.ts';

/** What was true from when on, in monotonic milliseconds. */
interface Entry {
  readonly sinceMs: number;
  readonly expected: Expectations;
}

/**
 * Keeps what was true when. The simulated clock stands still and nothing happens but through `change`, so
 * that the truth is the same from one change to the next.
 */
export class Chronicle {
  readonly #simulator: Simulator;
  readonly #seenUser: string | undefined;
  readonly #now: () => number;
  readonly #entries: Entry[] = [];

  /** `seenUser` is the only one whose sessions the cluster lists; undefined: all are. */
  constructor(simulator: Simulator, now: () => number, seenUser: string | undefined) {
    this.#simulator = simulator;
    this.#seenUser = seenUser;
    this.#now = now;
    this.change(() => undefined);
  }

  /** Lets something happen in the world. */
  change(happen: () => unknown): void {
    happen();
    const { world } = this.#simulator;
    const truth = this.#simulator.truth(this.#seenUser);
    const expected = expectAll({ truth, nodes: world.state.nodes });
    this.#entries.push({ sinceMs: this.#now(), expected });
  }

  /** What was true at the moments between the two times, in order. */
  between(beganMs: number, endedMs: number): readonly Expectations[] {
    const first = this.#entries.findLastIndex(({ sinceMs }) => sinceMs <= beganMs);
    const last = this.#entries.findLastIndex(({ sinceMs }) => sinceMs <= endedMs);
    return this.#entries.slice(Math.max(0, first), last + 1).map(({ expected }) => expected);
  }

  /** What is true now. */
  get present(): Expectations {
    const last = this.#entries.at(-1);
    if (last === undefined) throw new Error('nothing was ever true');
    return last.expected;
  }
}

import type { Target } from './targets.ts';

/** Servers name nodes; what they invent must not fill the memory. */
const MAX_NODES = 10_000;

export interface SilentNodesOptions {
  /** A node that gives no answer is left alone so long that waiting for it takes no larger share of the time. */
  readonly maxDuty: number;
  readonly monotonicMs: () => number;
}

/** A request about a node that was waited for in vain. */
export interface NodeSilence {
  readonly target: Target;
  readonly sentAtMs: number;
  readonly waitedMs: number;
  /** When the URL had last answered anything, as known at the start of the request. */
  readonly urlAnsweredAtMs: number;
}

/** The last silence of a node that has not answered since. */
interface Remembered extends NodeSilence {
  readonly endedAtMs: number;
  /** For which it has not been left alone. */
  readonly owedMs: number;
  readonly askAgainAtMs: number;
  /** Another URL answered meanwhile. */
  readonly isUrlSuspect: boolean;
}

/**
 * The nodes that gave no answer. The first silence may be that of the URL or of the whole API; a node is left alone
 * from the second one on, when the URL has answered something between the two. A node that then answers through
 * another URL is evidence against the one at which it was silent.
 */
export class SilentNodes {
  readonly #options: SilentNodesOptions;
  readonly #byNode = new Map<number, Remembered>();
  /** When any URL has answered last. */
  #apiAnsweredAtMs = -Infinity;

  constructor(options: SilentNodesOptions) {
    this.#options = options;
  }

  /** How long the node is still to be left alone, ms. */
  leftAloneMs(node: number): number {
    const askAgainAtMs = this.#byNode.get(node)?.askAgainAtMs ?? -Infinity;
    return Math.max(0, askAgainAtMs - this.#options.monotonicMs());
  }

  /** Any URL has answered anything. */
  apiAnswered(): void {
    this.#apiAnsweredAtMs = this.#options.monotonicMs();
  }

  silent(node: number, silence: NodeSilence): void {
    const { maxDuty, monotonicMs } = this.#options;
    const { target, sentAtMs, waitedMs, urlAnsweredAtMs } = silence;
    const endedAtMs = monotonicMs();
    const before = this.#byNode.get(node);
    const isItsOwn = before !== undefined && urlAnsweredAtMs > before.endedAtMs;
    const isUrlSuspect =
      !isItsOwn && this.#apiAnsweredAtMs >= sentAtMs && target.answeredAtMs < sentAtMs;
    if (isUrlSuspect) target.avoidForNodes(endedAtMs + waitedMs / maxDuty);
    if (isItsOwn) before.target.avoidForNodes(-Infinity);
    const aloneMs = isItsOwn ? (before.owedMs + waitedMs) / maxDuty : 0;
    this.#remember(node, {
      ...silence,
      endedAtMs,
      owedMs: isItsOwn ? 0 : waitedMs,
      askAgainAtMs: endedAtMs + aloneMs,
      isUrlSuspect,
    });
  }

  answered(node: number, target: Target): void {
    const before = this.#byNode.get(node);
    if (before === undefined) return;
    this.#byNode.delete(node);
    if (before.target === target || !before.isUrlSuspect) return;
    const { sentAtMs: sinceMs } = before;
    const sentAtMs = this.#options.monotonicMs();
    before.target.fellSilent({ what: `node ${node}`, sentAtMs, sinceMs });
  }

  #remember(node: number, silence: Remembered): void {
    const [oldest] = this.#byNode.size < MAX_NODES ? [] : this.#byNode.keys();
    if (oldest !== undefined) this.#byNode.delete(oldest);
    this.#byNode.set(node, silence);
  }
}

import type { LoggedRequest } from '../../simulator/http/request-log.ts';
import { heldReplicas } from '../../simulator/world/held-replicas.ts';
import { isReachable } from '../../simulator/world/nodes.ts';
import type { Range } from '../../simulator/world/ranges.ts';
import { canReach } from '../../simulator/world/reachability.ts';
import { isChanging } from '../../simulator/world/replica-types.ts';
import type { WorldState } from '../../simulator/world/state.ts';

interface Read {
  /** The moment of the request. */
  readonly moment: number;
  readonly nodeIds: readonly number[];
  /** Its configuration does not change. */
  readonly isSettled: boolean;
  /** The nodes of the descriptor. */
  readonly nodes: string;
  /** The same with the types of the replicas. */
  readonly types: string;
}

/** The descriptor of a range that an answer has. */
export interface Shown extends Read {
  readonly rangeId: number;
  readonly tableId: number | undefined;
}

/** The descriptors that one reader has got, to tell what it cannot know. */
export class Reads {
  readonly #state: WorldState;
  readonly #last = new Map<number, Read>();
  /** Of each range the last one whose configuration did not change. */
  readonly #settled = new Map<number, Read>();
  /** Of each range the last read before the last scan began, and those since. */
  readonly #sinceScan = new Map<number, readonly Read[]>();
  /** The moments at which a descriptor showed other voters on the same nodes, by table. */
  readonly #shown = new Map<number | undefined, number>();
  /** What was known when the last scan began. */
  #known: {
    readonly reads: ReadonlyMap<number, Read>;
    readonly shown: ReadonlyMap<number | undefined, number>;
  } = {
    reads: new Map(),
    shown: new Map(),
  };

  constructor(state: WorldState) {
    this.#state = state;
  }

  /** A scan begins: it knows of all that was read before. What is read later it may know, or the next one. */
  beginScan(): void {
    this.#known = { reads: new Map(this.#last), shown: new Map(this.#shown) };
    this.#sinceScan.clear();
    for (const [id, read] of this.#last) this.#sinceScan.set(id, [read]);
  }

  /** Takes down what a request is about to be answered with, which was true at that moment, and returns it. */
  requested(request: LoggedRequest, moment: number): readonly Shown[] {
    const { endpoint, node, gateway, path } = request;
    if (endpoint !== 'range_descriptors' || !canReach(this.#state, gateway, node)) return [];
    const ids = new URL(path, 'http://simulated').searchParams.getAll('range_ids').map(Number);
    const shown = heldReplicas(this.#state, ids).flatMap(({ range, replica }) => {
      const current = this.#state.ranges.get(range.id);
      if (replica.nodeId !== node || current?.generation !== range.generation) return [];
      return [{ ...readOf(current, moment), rangeId: range.id, tableId: range.tableId }];
    });
    this.show(shown);
    return shown;
  }

  /** Takes down what an answer has. */
  show(shown: readonly Shown[]): void {
    for (const { rangeId, tableId, ...read } of shown) {
      // What is older than what was read before is not kept.
      if ((this.#last.get(rangeId)?.moment ?? 0) > read.moment) continue;
      const before = this.#settled.get(rangeId);
      if (read.isSettled) {
        this.#settled.set(rangeId, read);
        const isZone = before?.nodes === read.nodes && before.types !== read.types;
        if (isZone) this.#shown.set(tableId, read.moment);
      }
      this.#last.set(rangeId, read);
      this.#sinceScan.set(rangeId, [...(this.#sinceScan.get(rangeId) ?? []), read]);
    }
  }

  /**
   * Whether the lists of ranges cannot show that the range has changed since its descriptor was read: `window` when all of the
   * nodes of the descriptor report it, also one that has not heard yet that the range has left it; `down` when one of them is down.
   */
  hiddenChange(range: Range): 'window' | 'down' | undefined {
    const read = this.#last.get(range.id);
    const now = readOf(range, 0);
    if (read === undefined || read.types === now.types) return undefined;
    const held = heldReplicas(this.#state, [range.id]).map(({ replica }) => replica.nodeId);
    const reporting = [...new Set(held)].filter((id) => this.#isUp(id)).toSorted((a, b) => a - b);
    if (reporting.join() !== this.#upOf(read).join()) return undefined;
    return reporting.length === read.nodeIds.length ? 'window' : 'down';
  }

  /** Whether the last scan knew by a descriptor since that moment who votes, or that voters change in the table. */
  hasShown(rangeId: number, moment: number): boolean {
    const tableId = this.#state.ranges.get(rangeId)?.tableId;
    const { reads, shown: tables } = this.#known;
    const shown = Math.max(reads.get(rangeId)?.moment ?? -1, tables.get(tableId) ?? -1);
    return shown >= moment;
  }

  /**
   * Whether a range has changed since its descriptor was read, and the nodes that are up and report it are the same. Example:
   * voters on nodes 1, 2, 3 and a learner on 4, node 3 is down. When the learner has become a voter and node 3 has been removed,
   * nodes 1, 2 and 4 report the range as before.
   */
  hasHidden(): boolean {
    return [...this.#sinceScan].some(([id, reads]) => {
      const range = this.#state.ranges.get(id);
      const now = range && readOf(range, 0);
      if (now === undefined) return false;
      return reads.some(
        (read) => now.types !== read.types && this.#upOf(now).join() === this.#upOf(read).join(),
      );
    });
  }

  #upOf({ nodeIds }: Read): readonly number[] {
    return nodeIds.filter((id) => this.#isUp(id));
  }

  #isUp(nodeId: number): boolean {
    const node = this.#state.nodes.get(nodeId);
    return node !== undefined && isReachable(node);
  }

  /** Nothing that was read before counts any more. */
  forget(): void {
    this.#last.clear();
  }

  /** Whether the last descriptor that was read has no replica on a node that is up. Its range may have lost others since. */
  hasSeenLost(rangeId: number): boolean {
    return this.#last.get(rangeId)?.nodeIds.every((id) => !this.#isUp(id)) ?? false;
  }
}

function readOf({ replicas }: Range, moment: number): Read {
  const nodes = replicas.map(({ nodeId }) => nodeId).toSorted((a, b) => a - b);
  const types = replicas.map(({ nodeId, type }) => `${nodeId}:${type}`).toSorted();
  return {
    moment,
    nodeIds: nodes,
    isSettled: !isChanging(replicas),
    nodes: nodes.join(),
    types: types.join(),
  };
}

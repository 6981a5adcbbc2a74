/**
 * Why a list of replicas cannot be taken as it is: the server changed the order of the stores between two pages; the list
 * moved on by one replica between two pages; or a replica came twice in one response.
 */
type ListFault = 'order changed' | 'offset moved' | 'repeated';

/**
 * Watches the order in which the replicas of one node arrive. A server draws a new order of its stores for each request and
 * cuts the page out of the whole, so pages of a node with several stores repeat some replicas and lose as many others. With
 * two replicas on each of the stores 1 and 2 and pages of two, the first page may be those of store 1 (of the order 1, 2)
 * and the second one, too (of the order 2, 1).
 */
export class ReplicaOrder {
  /** Replicas that had arrived before. */
  repeated = 0;
  #pages = 1;
  #isPageBegin = false;
  #storeId = 0;
  #rangeId = 0;
  /** Stores whose replicas were followed by those of another one. */
  readonly #ended = new Set<number>();
  #isChanged = false;

  add(storeId: number, rangeId: number, isNew: boolean): void {
    if (!isNew) this.repeated += 1;
    const isSameStore = storeId === this.#storeId;
    if (this.#isPageBegin) this.#pages += 1;
    const isMoved = this.#isPageBegin && isSameStore && rangeId === this.#rangeId;
    this.#isPageBegin = false;
    if (isSameStore) {
      if (rangeId <= this.#rangeId && !isMoved) this.#isChanged = true;
    } else {
      this.#ended.add(this.#storeId);
      if (this.#ended.has(storeId)) this.#isChanged = true;
      this.#storeId = storeId;
    }
    this.#rangeId = rangeId;
  }

  /** What comes from now on is of another page. */
  endPage(): void {
    this.#isPageBegin = true;
  }

  /** What is wrong with the list so far. In one response only repetition is: the order of its stores is of no account. */
  get fault(): ListFault | undefined {
    if (this.#pages > 1 && this.#isChanged) return 'order changed';
    if (this.repeated === 0) return undefined;
    return this.#pages > 1 ? 'offset moved' : 'repeated';
  }
}

/**
 * The table and the index that a range begins in, as one exact integer: index 1 of table 104 is 104 × 2^16 + 1, and in
 * virtual cluster 3 it is 3 × 2^44 more. Outside of tables, or when the key is not known, it is 0. No more of a key leaves
 * this file.
 */
export type TableIndex = number;

const TABLE_PREFIX = Buffer.from('/Table/');
const VIRTUAL_CLUSTER_PREFIX = Buffer.from('/Tenant/');
const SLASH = 0x2f;
const ZERO = 0x30;

/**
 * Ids from these on do not fit into 53 bits: a range of such a table counts as outside of tables, an index as unknown. Each
 * TRUNCATE gives the indexes of a table new ids.
 */
const CLUSTER_LIMIT = 2 ** 9;
const TABLE_LIMIT = 2 ** 28;
const INDEX_LIMIT = 2 ** 16;

/** Reads the bytes of a pretty key as `/Table/104/1/…`, in virtual cluster 3 `/Tenant/3/Table/104/1/…`. */
export function parseTableIndex(bytes: Uint8Array, start: number, end: number): TableIndex {
  const idAt = findTableId(bytes, start, end);
  const table = parseTable(bytes, start, end, idAt);
  if (table === 0) return 0;
  const indexId = parseId(bytes, wordEnd(bytes, idAt, end) + 1, end);
  return table * INDEX_LIMIT + (indexId < INDEX_LIMIT ? indexId : 0);
}

/**
 * The last table of a range that ends at this key, as `tableOf` has it; 0 outside of tables. A range that ends at the first
 * key of table 132, `/Table/132`, ends in table 131 or, where there is none, in one before it.
 */
export function parseLastTable(bytes: Uint8Array, start: number, end: number): number {
  const idAt = findTableId(bytes, start, end);
  const table = parseTable(bytes, start, end, idAt);
  return table > 0 && wordEnd(bytes, idAt, end) === end ? table - 1 : table;
}

/** Where the id of the table begins; -1 outside of tables. */
function findTableId(bytes: Uint8Array, start: number, end: number): number {
  const isOfCluster = startsWith(bytes, start, end, VIRTUAL_CLUSTER_PREFIX);
  const prefixAt = isOfCluster ? wordEnd(bytes, start + VIRTUAL_CLUSTER_PREFIX.length, end) : start;
  return startsWith(bytes, prefixAt, end, TABLE_PREFIX) ? prefixAt + TABLE_PREFIX.length : -1;
}

/** The table whose id begins at `idAt`, as `tableOf` has it; 0 where that is -1 or one of the ids is too large. */
function parseTable(bytes: Uint8Array, start: number, end: number, idAt: number): number {
  if (idAt === -1) return 0;
  const id = parseId(bytes, idAt, end);
  if (!(id > 0 && id < TABLE_LIMIT)) return 0;
  if (idAt === start + TABLE_PREFIX.length) return id;
  const cluster = parseId(bytes, start + VIRTUAL_CLUSTER_PREFIX.length, end);
  return cluster > 0 && cluster < CLUSTER_LIMIT ? cluster * TABLE_LIMIT + id : 0;
}

/**
 * The id of the last table where it is another one than the first, else 0. Small tables share ranges: one from `/Table/104`
 * to `/Table/131/1` holds the tables 104 to 131.
 */
export function lastTableIdOf(first: TableIndex, lastTable: number): number {
  const table = tableOf(first);
  // Nearly all ranges lie in one table.
  if (table === 0 || lastTable <= table) return 0;
  const isOfSameCluster = Math.floor(lastTable / TABLE_LIMIT) === Math.floor(table / TABLE_LIMIT);
  return isOfSameCluster ? lastTable % TABLE_LIMIT : 0;
}

function startsWith(bytes: Uint8Array, start: number, end: number, prefix: Uint8Array): boolean {
  if (start + prefix.length > end) return false;
  for (let position = 0; position < prefix.length; position += 1) {
    if (bytes[start + position] !== prefix[position]) return false;
  }
  return true;
}

/** The next slash, or the end of the key. */
function wordEnd(bytes: Uint8Array, start: number, end: number): number {
  let position = start;
  while (position < end && bytes[position] !== SLASH) position += 1;
  return position;
}

/** 104 of `104/1/…`; 0 when nothing is there, NaN when that is no number. */
function parseId(bytes: Uint8Array, start: number, end: number): number {
  let id = 0;
  for (let position = start; position < end && bytes[position] !== SLASH; position += 1) {
    const digit = (bytes[position] ?? 0) - ZERO;
    id = digit < 0 || digit > 9 ? NaN : id * 10 + digit;
  }
  return id;
}

/** A table as one integer: its id, 0 outside of tables; 3 × 2^28 more in virtual cluster 3. */
export function tableOf(tableIndex: TableIndex): number {
  return Math.floor(tableIndex / INDEX_LIMIT);
}

/** `104`, in virtual cluster 3 `3/104`; empty outside of tables. */
export function labelOfTable(table: number): string {
  const cluster = Math.floor(table / TABLE_LIMIT);
  return `${cluster === 0 ? '' : `${cluster}/`}${table % TABLE_LIMIT || ''}`;
}

/** The ids as label values; empty where there is none. */
export function tableLabels(tableIndex: TableIndex): {
  readonly table_id: string;
  readonly index_id: string;
} {
  const table = tableOf(tableIndex);
  const indexId = table === 0 ? 0 : tableIndex % INDEX_LIMIT;
  return { table_id: labelOfTable(table), index_id: String(indexId || '') };
}

/** The label of the last table of a range: `131`, in virtual cluster 3 `3/131`; empty where it is the first one. */
export function lastTableLabel(first: TableIndex, lastTableId = 0): string {
  const table = tableOf(first);
  return lastTableId === 0 ? '' : labelOfTable(table - (table % TABLE_LIMIT) + lastTableId);
}

/** The table of a range whose table index has no number of its own. */
export const UNKNOWN_TABLE = -1;

/** Numbers that fit 16 bits; the last one is shared by all table indexes beyond. */
const MAX_TABLE_INDEXES = 2 ** 16;
const SHARED_NUMBER = MAX_TABLE_INDEXES - 1;
/** So few numbers are not worth a look for those without a range. */
const FEW_NUMBERS = 1_000;

/**
 * Numbers for table indexes, in the order in which they are seen. Millions of ranges begin in some thousand of them, and
 * a number takes 2 bytes a range in place of 8. Tables come and go, so numbers that no range has are used again.
 */
export class TableIndexes {
  #numbers = new Map<TableIndex, number>([[0, 0]]);
  #indexes: TableIndex[] = [0];
  /** How many were left after the last `keep`. */
  #kept = 1;
  /** Some table index has no number of its own. */
  isFull = false;

  /** How many have a number of their own. */
  get size(): number {
    return this.#indexes.length;
  }

  numberOf(tableIndex: TableIndex): number {
    const known = this.#numbers.get(tableIndex);
    if (known !== undefined) return known;
    const next = this.#indexes.length;
    if (next >= SHARED_NUMBER) {
      this.isFull = true;
      return SHARED_NUMBER;
    }
    this.#numbers.set(tableIndex, next);
    this.#indexes.push(tableIndex);
    return next;
  }

  /** Whether enough were added since the last `keep` that another one is worth its time. */
  get hasGrown(): boolean {
    const { size } = this;
    const enough = Math.min(Math.max(FEW_NUMBERS, 2 * this.#kept), MAX_TABLE_INDEXES / 2);
    return this.isFull || (size >= enough && size > this.#kept);
  }

  /** Keeps the numbers with a 1 alone. Returns the new number of each old one. */
  keep(isUsed: Uint8Array): Uint16Array {
    const before = this.#indexes;
    const renumbered = new Uint16Array(MAX_TABLE_INDEXES);
    renumbered[SHARED_NUMBER] = SHARED_NUMBER;
    this.#numbers = new Map();
    this.#indexes = [];
    for (const [old, tableIndex] of before.entries()) {
      if (old > 0 && isUsed[old] !== 1) continue;
      renumbered[old] = this.#indexes.length;
      this.#numbers.set(tableIndex, this.#indexes.length);
      this.#indexes.push(tableIndex);
    }
    this.#kept = this.#indexes.length;
    return renumbered;
  }

  /** Undefined for the number that many share. */
  get(assigned: number): TableIndex | undefined {
    return this.#indexes[assigned];
  }

  /** All tables, 0 for what is outside of them, and UNKNOWN_TABLE. */
  tables(): ReadonlySet<number> {
    return new Set([...this.#indexes.map(tableOf), UNKNOWN_TABLE]);
  }

  /** The table, 0 outside of tables; UNKNOWN_TABLE for the number that many share. */
  tableOf(assigned: number): number {
    const tableIndex = this.#indexes[assigned];
    return tableIndex === undefined ? UNKNOWN_TABLE : tableOf(tableIndex);
  }
}

import type { Quirks } from '../../simulator/quirks.ts';
import { encodeJson } from '../../simulator/wire/encoding.ts';
import { rangeElement } from '../../simulator/wire/range.ts';
import { tableKey } from '../../simulator/world/keys.ts';
import type { Lease, LeaseKind } from '../../simulator/world/leases.ts';
import { loadOf, type ReplicaLoad } from '../../simulator/world/load.ts';
import {
  makeReplica,
  RANGE_PROBLEMS,
  REPLICA_PROBLEMS,
  type Problem,
  type Range,
} from '../../simulator/world/ranges.ts';
import type { WorldState } from '../../simulator/world/state.ts';
import { FIRST_NODE_ID, FIRST_RANGE_ID, FIRST_STORE_ID, REPLICATION } from './layout.ts';

/** Elements of a block; a multiple of the replication, so that the same elements hold leases in every block. */
export const BLOCK_ELEMENTS = 120;
const TABLES = 30;
const LEASES = 5;
const HOUR_MS = 3_600_000;
/** A key of a range, in base64, is this text, 7 digits and a quote. */
export const KEY_START = '"K';

/** The content of an element, without its ids. */
export interface ElementFacts {
  readonly holdsLease: boolean;
  readonly kind: LeaseKind;
  readonly problems: readonly Problem[];
  readonly load: ReplicaLoad;
}

/** Text of some elements, each followed by a comma, with the positions of their ids. */
export interface Block {
  readonly bytes: Buffer;
  /** The start of each element, and the end. */
  readonly starts: Int32Array;
  readonly rangeIdAt: Int32Array;
  /** Of the digits in the keys. */
  readonly startKeyAt: Int32Array;
  readonly endKeyAt: Int32Array;
  readonly tableIdAt: Int32Array;
  readonly nodeIdAt: Int32Array;
  readonly storeIdAt: Int32Array;
  readonly holderNodeIdAt: Int32Array;
  readonly holderStoreIdAt: Int32Array;
  readonly facts: readonly ElementFacts[];
}

/** What the elements of a block are. */
export interface BlockKind {
  /** Of the node in its group. */
  readonly turn: number;
  /** Every problem occurs once in a group. */
  readonly troubled: boolean;
  readonly tablePerRange: boolean;
}

export function makeBlock(state: WorldState, quirks: Quirks, kind: BlockKind): Block {
  const block: Block = {
    bytes: Buffer.alloc(0),
    starts: new Int32Array(BLOCK_ELEMENTS + 1),
    rangeIdAt: new Int32Array(BLOCK_ELEMENTS),
    startKeyAt: new Int32Array(BLOCK_ELEMENTS),
    endKeyAt: new Int32Array(BLOCK_ELEMENTS),
    tableIdAt: new Int32Array(BLOCK_ELEMENTS),
    nodeIdAt: new Int32Array(BLOCK_ELEMENTS),
    storeIdAt: new Int32Array(BLOCK_ELEMENTS),
    holderNodeIdAt: new Int32Array(BLOCK_ELEMENTS),
    holderStoreIdAt: new Int32Array(BLOCK_ELEMENTS),
    facts: [],
  };
  const texts: string[] = [];
  const facts: ElementFacts[] = [];
  let start = 0;
  for (let element = 0; element < BLOCK_ELEMENTS; element++) {
    const { text, fact } = makeElement(state, quirks, element, kind);
    markIds(block, element, text, start);
    texts.push(text, ',');
    facts.push(fact);
    start += text.length + 1;
    block.starts[element + 1] = start;
  }
  return { ...block, bytes: Buffer.from(texts.join(''), 'latin1'), facts };
}

function makeElement(
  state: WorldState,
  quirks: Quirks,
  element: number,
  kind: BlockKind,
): { text: string; fact: ElementFacts } {
  const { turn } = kind;
  const range = makeRange(state, element, kind);
  const replica = range.replicas[turn];
  if (replica === undefined) throw new RangeError(`no replica for turn ${turn}`);
  const holdsLease = element % REPLICATION === turn;
  const text = ['start_key', 'end_key'].reduce(
    // Replaced is the first one, that of the descriptor.
    (before, member) =>
      before.replace(new RegExp(`"${member}":"[^"]*"`), `"${member}":${KEY_START}0000000"`),
    encodeJson(rangeElement(state, quirks, range, replica)),
  );
  return {
    text,
    fact: {
      holdsLease,
      kind: kindOf(element),
      problems: holdsLease ? [...range.forced, ...replica.flags] : [],
      load: loadOf(state, range, replica),
    },
  };
}

function makeRange(
  state: WorldState,
  element: number,
  { troubled, tablePerRange }: BlockKind,
): Range {
  const tableId = tablePerRange ? FIRST_RANGE_ID : 104 + (element % TABLES);
  const replicas = [...state.nodes.values()].map((node, index) =>
    makeReplica(node, FIRST_STORE_ID + index, index + 1),
  );
  const range: Range = {
    id: FIRST_RANGE_ID,
    start: tableKey(undefined, tableId, 1, 1000 + element),
    end: tableKey(undefined, tableId, 1, 1001 + element),
    tableId,
    replicas,
    nextReplicaId: replicas.length + 1,
    generation: 1,
    leases: makeLeases(state, element),
    wantedVoters: REPLICATION,
    wantedReplicas: REPLICATION,
    goal: undefined,
    queriesPerSecond: element % 4 === 0 ? 0 : (element * 37) % 211,
    extraCpuNanos: 0,
    forced: new Set(),
  };
  if (troubled) addProblem(range, element);
  return range;
}

/** The first elements have one problem each. */
function addProblem(range: Range, element: number): void {
  const ofRange = RANGE_PROBLEMS[element];
  const ofReplica = REPLICA_PROBLEMS[element - RANGE_PROBLEMS.length];
  if (ofRange !== undefined) range.forced.add(ofRange);
  if (ofReplica !== undefined) range.replicas[element % REPLICATION]?.flags.add(ofReplica);
}

function makeLeases(state: WorldState, element: number): Lease[] {
  const kind = kindOf(element);
  return Array.from({ length: LEASES }, (_, index) => {
    const isLast = index === LEASES - 1;
    const turn = isLast ? element % REPLICATION : index % REPLICATION;
    return {
      nodeId: FIRST_NODE_ID + turn,
      storeId: FIRST_STORE_ID + turn,
      replicaId: turn + 1,
      kind,
      generation: kind === 'expiration' ? 0 : 7 + index,
      sequence: 20 + index,
      startMs: state.startMs - HOUR_MS * (LEASES - index),
      acquisition: 'transfer',
    };
  });
}

function kindOf(element: number): LeaseKind {
  if (element % 10 === 9) return 'expiration';
  return element % 2 === 0 ? 'leader' : 'epoch';
}

/** The text is ASCII, so positions in the text equal positions in the bytes. */
function markIds(block: Block, element: number, text: string, start: number): void {
  const after = (member: string, last = false): number => {
    const at = last ? text.lastIndexOf(member) : text.indexOf(member);
    return start + at + member.length;
  };
  block.rangeIdAt[element] = after('"range_id":');
  block.startKeyAt[element] = after(`"start_key":${KEY_START}`);
  block.endKeyAt[element] = after(`"end_key":${KEY_START}`);
  block.tableIdAt[element] = after('"start_key":"/Table/');
  block.nodeIdAt[element] = after('"source_node_id":');
  block.storeIdAt[element] = after('"source_store_id":');
  block.holderNodeIdAt[element] = after('"node_id":', true);
  block.holderStoreIdAt[element] = after('"store_id":', true);
}

import { BLOCK_ELEMENTS, type Block, KEY_START } from './blocks.ts';
import {
  type DeadNodes,
  FIRST_RANGE_ID,
  holderAt,
  lastRangeId,
  nodeIdAt,
  rangeIdAt,
  REPLICATION,
  storeIdAt,
  type Layout,
} from './layout.ts';

/** By turn in the group; the first block of each node contains problems. */
export interface Blocks {
  readonly troubled: readonly Block[];
  readonly healthy: readonly Block[];
}

export function blockAt(blocks: Blocks, node: number, position: number): Block {
  const list = position < BLOCK_ELEMENTS ? blocks.troubled : blocks.healthy;
  const block = list[node % REPLICATION];
  if (block === undefined) throw new RangeError(`no block for node ${node}`);
  return block;
}

/** The cluster whose ranges are listed. */
export interface ListedCluster {
  readonly layout: Layout;
  readonly blocks: Blocks;
  readonly dead: DeadNodes;
}

/** Positions in the list of a node. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/**
 * The elements of a node from one position to another, in pieces, separated by commas. `take` returns a buffer that may
 * be overwritten.
 */
export function* elementsOf(
  cluster: ListedCluster,
  node: number,
  { from, to }: Span,
  take: (size: number) => Buffer,
): Generator<Buffer> {
  for (let position = from; position < to;) {
    const blockStart = position - (position % BLOCK_ELEMENTS);
    const end = Math.min(to, blockStart + BLOCK_ELEMENTS);
    const block = blockAt(cluster.blocks, node, position);
    const start = block.starts[position - blockStart] ?? 0;
    const stop = block.starts[end - blockStart] ?? 0;
    const piece = take(stop - start);
    block.bytes.copy(piece, 0, start, stop);
    for (let at = position; at < end; at++) {
      overwriteIds(cluster, block, piece, start, at - blockStart, node, at);
    }
    yield end === to ? piece.subarray(0, stop - start - 1) : piece.subarray(0, stop - start);
    position = end;
  }
}

function overwriteIds(
  { layout, dead }: ListedCluster,
  block: Block,
  piece: Buffer,
  start: number,
  element: number,
  node: number,
  position: number,
): void {
  const holder = holderAt(node, position, dead);
  const write = (places: Int32Array, value: number, width: number): void =>
    writeDigits(piece, (places[element] ?? 0) - start, value, width);
  const rangeId = rangeIdAt(layout, node, position);
  write(block.rangeIdAt, rangeId, 7);
  // A range begins where the one before it ends.
  write(block.startKeyAt, rangeId, 7);
  write(block.endKeyAt, rangeId + 1, 7);
  if (rangeId === FIRST_RANGE_ID) replaceKey(piece, block.startKeyAt, element, start, 'null');
  if (rangeId === lastRangeId(layout)) replaceKey(piece, block.endKeyAt, element, start, '"//8="');
  if (layout.tablePerRange) write(block.tableIdAt, rangeId, 7);
  write(block.nodeIdAt, nodeIdAt(node), 3);
  write(block.storeIdAt, storeIdAt(layout, node, position), 4);
  write(block.holderNodeIdAt, nodeIdAt(holder), 3);
  write(block.holderStoreIdAt, storeIdAt(layout, holder, position), 4);
}

/** In place of a key with its quotes. */
function replaceKey(
  piece: Buffer,
  places: Int32Array,
  element: number,
  start: number,
  text: string,
): void {
  const at = (places[element] ?? 0) - start - KEY_START.length;
  piece.write(text.padEnd(KEY_START.length + 7 + 1), at);
}

/** Decimal digits over the old ones; the width is the same for all values. */
export function writeDigits(bytes: Buffer, at: number, value: number, width: number): void {
  let rest = value;
  for (let digit = at + width - 1; digit >= at; digit--) {
    bytes[digit] = 48 + (rest % 10);
    rest = (rest - (rest % 10)) / 10;
  }
}

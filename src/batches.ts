/** The ranges that one request asks a node for. */
export interface NodeBatch {
  readonly nodeId: number;
  readonly rangeIds: readonly number[];
}

/** The ranges of each node in batches of at most `size`, in their order. */
export function inBatches(
  nodes: Iterable<readonly [nodeId: number, rangeIds: readonly number[]]>,
  size: number,
): readonly NodeBatch[] {
  return [...nodes].flatMap(([nodeId, ids]) =>
    Array.from({ length: Math.ceil(ids.length / size) }, (_, index) => ({
      nodeId,
      rangeIds: ids.slice(index * size, (index + 1) * size),
    })),
  );
}

/** A small answer, to be read as a whole: the part of a request that receives it. */
export interface WholeBody {
  /** Most decoded bytes; more of them fail the request with reason limit. */
  readonly maxBytes: number;
  /** Takes a chunk, which is only valid during the call, and so keeps a copy. */
  readonly onChunk: (chunk: Uint8Array) => void;
  readonly bytes: () => Buffer;
}

export function gatherBody(maxBytes: number): WholeBody {
  const chunks: Uint8Array[] = [];
  return {
    maxBytes,
    onChunk: (chunk) => chunks.push(chunk.slice()),
    bytes: () => Buffer.concat(chunks),
  };
}

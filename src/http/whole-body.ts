/** A small answer, to be read as a whole. */
export interface WholeBody {
  /** Takes a chunk, which is only valid during the call, and so keeps a copy. */
  readonly onChunk: (chunk: Uint8Array) => void;
  readonly bytes: () => Buffer;
}

export function gatherBody(): WholeBody {
  const chunks: Uint8Array[] = [];
  return {
    onChunk: (chunk) => chunks.push(chunk.slice()),
    bytes: () => Buffer.concat(chunks),
  };
}

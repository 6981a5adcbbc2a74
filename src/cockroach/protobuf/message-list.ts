import { MessageReader } from './message-reader.ts';
import { ItemLimitError, MessageEndError } from './protobuf-error.ts';

/** The longest tag with the number or the length behind it. */
const MAX_HEAD_BYTES = 15;

/** How a message is read that is one long list. */
export interface MessageListOptions {
  /** The number of the repeated field that holds the elements. */
  readonly list: number;
  /** Reads an element up to its end, synchronously; what it throws, `write` throws. */
  readonly onMessage: (reader: MessageReader, end: number) => void;
  /** A longer element is skipped and counted. */
  readonly maxElementBytes: number;
}

/**
 * Reads a message with one long list while it arrives, in chunks that are cut anywhere. Holds one element and one chunk; other
 * fields are skipped as bytes. An empty list is no byte at all.
 */
export class MessageList {
  readonly #options: MessageListOptions;
  /** The bytes of an incomplete field, and how many are needed before they are looked at again. */
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  #neededBytes = 0;
  /** Bytes to come that belong to a field that is left out. */
  #skippedBytes = 0;
  readonly #counts = {
    /** Elements passed to `onMessage`, and those that were not: over a limit. */
    elements: 0,
    skipped: 0,
  };

  constructor(options: MessageListOptions) {
    this.#options = options;
  }

  /** Reads the next bytes, which are only valid during the call. Throws ProtobufError. */
  write(...chunks: readonly Uint8Array[]): void {
    for (const chunk of chunks) this.#write(chunk);
  }

  #write(chunk: Uint8Array): void {
    const skipped = Math.min(this.#skippedBytes, chunk.length);
    this.#skippedBytes -= skipped;
    const rest = chunk.subarray(skipped);
    if (rest.length === 0) return;
    if (this.#heldBytes + rest.length < this.#neededBytes) {
      this.#hold(rest);
      return;
    }
    const bytes = this.#heldBytes === 0 ? rest : Buffer.concat([...this.#held, rest]);
    this.#held = [];
    this.#heldBytes = 0;
    this.#neededBytes = 0;
    const read = this.#readFields(bytes);
    if (read < bytes.length) this.#hold(bytes.subarray(read));
  }

  /** Call when the message is complete. Throws ProtobufError. */
  end() {
    if (this.#heldBytes > 0 || this.#skippedBytes > 0) {
      throw new MessageEndError('the message is incomplete');
    }
    return { ...this.#counts, tooLarge: this.#counts.skipped };
  }

  #hold(bytes: Uint8Array): void {
    this.#held.push(Uint8Array.from(bytes));
    this.#heldBytes += bytes.length;
  }

  /** Reads all complete fields. Returns where an incomplete one begins. */
  #readFields(bytes: Uint8Array): number {
    const reader = new MessageReader(bytes);
    while (reader.position < bytes.length) {
      const start = reader.position;
      if (!isHeadComplete(bytes, start)) {
        this.#neededBytes = bytes.length - start + 1;
        return start;
      }
      const isElement = reader.next(bytes.length) === this.#options.list;
      const end = isElement ? reader.lengthEnd() : reader.fieldEnd();
      const isTooLong = end - reader.position > this.#options.maxElementBytes;
      if (isElement && isTooLong) this.#counts.skipped += 1;
      if (isElement && !isTooLong) {
        if (end > bytes.length) {
          this.#neededBytes = end - start;
          return start;
        }
        this.#readElement(reader, end);
      }
      this.#skippedBytes = Math.max(0, end - bytes.length);
      reader.moveTo(end);
    }
    return bytes.length;
  }

  #readElement(reader: MessageReader, end: number): void {
    reader.moveTo(reader.position);
    try {
      this.#options.onMessage(reader, end);
      this.#counts.elements += 1;
    } catch (error) {
      if (!(error instanceof ItemLimitError)) throw error;
      this.#counts.skipped += 1;
    }
  }
}

/** Whether the tag is there, and the number or the length behind it. */
function isHeadComplete(bytes: Uint8Array, start: number): boolean {
  if (bytes.length - start >= MAX_HEAD_BYTES) return true;
  const wireType = (bytes[start] ?? 0) & 7;
  const ends = bytes.subarray(start).filter((byte) => byte < 0x80).length;
  return ends > (wireType === 0 || wireType === 2 ? 1 : 0);
}

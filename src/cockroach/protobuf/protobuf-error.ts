/** The message cannot be read. The text never holds any of it: responses carry SQL text, keys and addresses. */
export class ProtobufError extends Error {
  override readonly name = 'ProtobufError';

  constructor(problem: string) {
    super(`${problem} (protobuf)`);
  }
}

/** An element holds more items than its limit. */
export class ItemLimitError extends ProtobufError {}

/** The message ends in the middle. */
export class MessageEndError extends ProtobufError {}

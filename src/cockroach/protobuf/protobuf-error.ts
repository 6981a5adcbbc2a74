/** Why a message could not be read. */
type ProtobufErrorKind =
  /** The bytes are not a message: no tag, a number without an end, or a group, which no server sends. */
  | 'syntax'
  /** The message, or one in it, ends too early or too late. */
  | 'truncated'
  /** A wanted field has another wire type than its definition says. */
  | 'type'
  /** An element holds more messages than its limit. */
  | 'limit';

/** The message cannot be read. The text never holds any of it: responses carry SQL text, keys and addresses. */
export class ProtobufError extends Error {
  override readonly name = 'ProtobufError';
  readonly kind: ProtobufErrorKind;

  constructor(kind: ProtobufErrorKind, problem: string) {
    super(`${problem} (protobuf)`);
    this.kind = kind;
  }
}

import { MessageReader } from './message-reader.ts';
import { ProtobufError } from './protobuf-error.ts';

// ResponseError of pkg/server/serverpb, and the error of the gRPC gateway.
const ERROR = 1;
const MESSAGE = 3;

/** The text of a server's error, of whose body only the start may be there; '' where there is none. */
export function readErrorText(body: Uint8Array): string {
  const reader = new MessageReader(body);
  try {
    for (let field = reader.next(body.length); field !== 0; field = reader.next(body.length)) {
      if (field !== ERROR && field !== MESSAGE) reader.skip();
      else {
        const end = Math.min(reader.lengthEnd(), body.length);
        return Buffer.from(body.subarray(reader.position, end)).toString();
      }
    }
  } catch (error) {
    if (!(error instanceof ProtobufError)) throw error;
  }
  return '';
}

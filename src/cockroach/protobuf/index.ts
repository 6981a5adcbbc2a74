// The only door of this folder: a reader of protobuf messages, which names fields by their number and skips all others.
export { MessageList, type MessageListOptions } from './message-list.ts';
export type { MessageReader } from './message-reader.ts';
export { MessageEndError, ProtobufError } from './protobuf-error.ts';
export { readErrorText } from './server-error.ts';

/** The media types of a message, the first as servers write it. */
export const PROTOBUF = 'application/x-protobuf';

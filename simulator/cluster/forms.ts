import type { Answer, Reply } from '../http/answer.ts';
import { bytesField, type Field, integerField } from '../wire/protobuf.ts';
import { type ClusterRequest, type ClusterServer, headerOf } from './request.ts';

const PROTOBUF = 'application/x-protobuf';
const PROTOBUF_NAMES: readonly string[] = [PROTOBUF, 'application/x-google-protobuf'];
const JSON_NAMES: readonly string[] = ['application/json', 'application/x-javascript'];

/** Codes of gRPC by the status that stands for them. */
const CODES: ReadonlyMap<number, number> = new Map([
  [400, 3],
  [403, 7],
  [500, 13],
  [501, 12],
]);

/**
 * Whether a page beside the API v2 is protobuf (quirk `protobuf`). The gRPC gateway goes by Accept, else by Content-Type;
 * apiinternal goes by Accept-Encoding, else by Content-Type, and takes a value as a whole.
 */
export function sendsProtobuf({ quirks }: ClusterServer, request: ClusterRequest): boolean {
  const [accept, encoding, type] = ['accept', 'accept-encoding', 'content-type'].map((name) =>
    headerOf(request, name),
  );
  if (quirks.protobuf === 'by-accept') return isFirst([accept, type], PROTOBUF_NAMES, JSON_NAMES);
  const isByType = quirks.protobuf === 'by-content-type';
  return isByType && isFirst([encoding, type], [PROTOBUF], ['application/json', '*/*']);
}

/** Whether the first value that names a form names the first of both. */
function isFirst(
  values: readonly (string | undefined)[],
  wanted: readonly string[],
  others: readonly string[],
): boolean {
  for (const value of values) {
    if (value === undefined) continue;
    if (wanted.includes(value)) return true;
    if (others.includes(value)) return false;
  }
  return false;
}

export function protobufAnswer(status: number, fields: readonly Field[]): Answer {
  const headers = { 'Content-Type': PROTOBUF, 'Cache-control': 'no-cache' };
  return { status, headers, body: Buffer.concat(fields) };
}

/** An error of the service, which has the form of the response; what comes before the service is text. */
export function errorInForm<Sent extends Reply>(
  server: ClusterServer,
  request: ClusterRequest,
  reply: Sent,
): Sent | Answer {
  if (typeof reply === 'string' || !sendsProtobuf(server, request)) return reply;
  const code = CODES.get(reply.status);
  if (code === undefined || typeof reply.body !== 'string') return reply;
  const text = reply.body.trimEnd();
  return protobufAnswer(reply.status, [
    bytesField(1, text),
    integerField(2, code),
    bytesField(3, text),
  ]);
}

import { once } from 'node:events';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { internalError, type Reply } from './answer.ts';
import { dripped, applyEffect, stalled } from './fault-effects.ts';
import type { FaultEffect, Faults } from './faults.ts';
import { isRepeating, repeated } from './repeated-answers.ts';
import { loggedHeaders, type LoggedRequest, type RequestRecorder } from './request-log.ts';
import { sendAnswer, type Transport } from './send.ts';

/** A request as received. */
export interface ReceivedRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** An API on a port. */
export interface Service {
  readonly api: LoggedRequest['api'];
  /** The node with this address; 0 for the cloud. */
  readonly gateway: number;
  /** The name of the operation for the request log and for faults. */
  endpointOf(received: ReceivedRequest): string;
  answer(received: ReceivedRequest): Promise<Reply>;
  /** The requested node: that of the path or of remote_node_id, else the gateway. */
  targetOf(received: ReceivedRequest): number;
  readonly log: RequestRecorder;
  readonly faults: Faults;
  readonly now: () => number;
  /** The clock of the header Date. */
  readonly headerNow: () => number;
  readonly compresses: () => boolean;
  /** Headers of every response. */
  readonly headers: () => Readonly<Record<string, string>>;
}

/**
 * Serves an API over node:http. A rejection means that the client or a fault closed the connection, which ends only
 * this request.
 */
export function serve(service: Service): RequestListener {
  return (request, response) => {
    handle(service, request, response).catch(() => response.destroy());
  };
}

async function handle(
  service: Service,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const received: ReceivedRequest = {
    method: request.method ?? 'GET',
    url: new URL(`http://simulated${request.url ?? '/'}`),
    headers: request.headers,
    body: await readBody(request),
  };
  const entry = createLogEntry(service, received);
  service.log.begin(entry);
  response.once('close', () => {
    entry.status ??= 'aborted';
    service.log.end(entry, service.now());
  });
  const closed = new AbortController();
  // The usual reason is an error with a stack, which takes longer than many a response.
  response.once('close', () => closed.abort('closed'));
  const fault = service.faults.take(entry);
  const effect = fault?.effect;
  if (effect?.kind === 'slow') await wait(effect.ms, undefined, { signal: closed.signal });
  const answer = (): Promise<Reply> => answerOrError(service, received, entry);
  const original =
    fault !== undefined && isRepeating(fault.effect)
      ? await repeated(fault, entry, answer, service.headerNow())
      : await answer();
  const reply = effect === undefined ? original : applyEffect(effect, original);
  response.setHeader('Date', new Date(service.headerNow()).toUTCString());
  const transport = transportFor(effect, closed.signal, service.compresses() && wantsGzip(request));
  await deliver(service, request, response, reply, entry, transport);
}

async function answerOrError(
  service: Service,
  received: ReceivedRequest,
  entry: LoggedRequest,
): Promise<Reply> {
  try {
    return await service.answer(received);
  } catch (error) {
    entry.failure = error;
    return internalError();
  }
}

function transportFor(
  effect: FaultEffect | undefined,
  signal: AbortSignal,
  gzip: boolean,
): Transport {
  if (effect?.kind === 'cut') return { gzip: false, cutAfterBytes: effect.bytes };
  if (effect?.kind === 'wrong-length') return { gzip: false };
  if (effect?.kind === 'gzip-bomb') return { gzip: true };
  if (effect?.kind === 'stall') {
    const disconnected = (): Promise<unknown> => once(signal, 'abort');
    return { gzip: false, filter: (source) => stalled(source, effect.bytes, disconnected) };
  }
  if (effect?.kind !== 'drip') return { gzip };
  const { bytesPerSecond } = effect;
  const pause = (ms: number): Promise<unknown> => wait(ms, undefined, { signal });
  return { gzip, filter: (source) => dripped(source, bytesPerSecond, pause) };
}

function createLogEntry(service: Service, received: ReceivedRequest): LoggedRequest {
  return {
    api: service.api,
    endpoint: service.endpointOf(received),
    node: service.targetOf(received),
    gateway: service.gateway,
    method: received.method,
    path: received.url.pathname + received.url.search,
    headers: loggedHeaders(received.headers),
    startMs: service.now(),
    endMs: undefined,
    status: undefined,
    failure: undefined,
  };
}

async function deliver(
  service: Service,
  request: IncomingMessage,
  response: ServerResponse,
  reply: Reply,
  entry: LoggedRequest,
  transport: Transport,
): Promise<void> {
  if (reply === 'silence') return;
  if (reply === 'reset') {
    request.socket.resetAndDestroy();
    return;
  }
  for (const [name, value] of Object.entries(service.headers())) response.setHeader(name, value);
  entry.status = reply.status;
  await sendAnswer(response, reply, transport);
}

function wantsGzip(request: IncomingMessage): boolean {
  const accepted = request.headers['accept-encoding'] ?? '';
  return /(?:^|[\s,])gzip(?!\s*;\s*q=0(?:\.0*)?(?:,|$))/.test(accepted);
}

/** Requests of these APIs are shorter. */
const MAX_BODY_BYTES = 1_048_576;

/** The request's body as text; a longer one is truncated. */
export async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    if (!Buffer.isBuffer(chunk)) continue;
    size += chunk.length;
    if (size <= MAX_BODY_BYTES) chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

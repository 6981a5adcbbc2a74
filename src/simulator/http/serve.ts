import { once } from 'node:events';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { internalError, type Reply } from './answer.ts';
import { readBody } from './body.ts';
import { dripped, replyUnder, stalled } from './fault-effects.ts';
import type { FaultEffect, Faults } from './faults.ts';
import { headersOfInterest, type LoggedRequest, type RequestRecorder } from './request-log.ts';
import { sendAnswer, type Transport } from './send.ts';

/** A request in the terms of an API, before anything has looked at it. */
export interface Arrival {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** An API behind a port. */
export interface Service {
  readonly api: LoggedRequest['api'];
  /** The node whose address this is; 0 for the cloud. */
  readonly gateway: number;
  /** The operation's name for the request log and for faults. */
  endpointOf(arrival: Arrival): string;
  answer(arrival: Arrival): Promise<Reply>;
  /** The node that the request is for: the one of the path or of remote_node_id, else the one addressed. */
  targetOf(arrival: Arrival): number;
  readonly log: RequestRecorder;
  readonly faults: Faults;
  readonly now: () => number;
  readonly compresses: () => boolean;
  /** Headers that every answer of the API carries. */
  readonly headers: () => Readonly<Record<string, string>>;
}

/**
 * Serves an API over node:http: reads, records, answers. What rejects here is a connection that the client or a
 * fault has ended, which ends the request and nothing else.
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
  const arrival: Arrival = {
    method: request.method ?? 'GET',
    url: new URL(`http://simulated${request.url ?? '/'}`),
    headers: request.headers,
    body: await readBody(request),
  };
  const entry = logged(service, arrival);
  service.log.begin(entry);
  response.once('close', () => {
    entry.status ??= 'aborted';
    service.log.end(entry, service.now());
  });
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const effect = service.faults.meet(entry);
  if (effect?.kind === 'slow') await wait(effect.ms, undefined, { signal: gone.signal });
  const right = await answerOrFail(service, arrival, entry);
  const reply = effect === undefined ? right : replyUnder(effect, right);
  response.setHeader('Date', new Date(service.now()).toUTCString());
  const transport = transportUnder(effect, gone.signal, service.compresses() && wantsGzip(request));
  await deliver(service, request, response, reply, entry, transport);
}

async function answerOrFail(
  service: Service,
  arrival: Arrival,
  entry: LoggedRequest,
): Promise<Reply> {
  try {
    return await service.answer(arrival);
  } catch (error) {
    entry.failure = error;
    return internalError();
  }
}

function transportUnder(
  effect: FaultEffect | undefined,
  signal: AbortSignal,
  gzip: boolean,
): Transport {
  if (effect?.kind === 'cut') return { gzip: false, cutAfterBytes: effect.bytes };
  if (effect?.kind === 'wrong-length') return { gzip: false };
  if (effect?.kind === 'gzip-bomb') return { gzip: true };
  if (effect?.kind === 'stall') {
    const gone = (): Promise<unknown> => once(signal, 'abort');
    return { gzip: false, filter: (source) => stalled(source, effect.bytes, gone) };
  }
  if (effect?.kind !== 'drip') return { gzip };
  const { bytesPerSecond } = effect;
  const pause = (ms: number): Promise<unknown> => wait(ms, undefined, { signal });
  return { gzip, filter: (source) => dripped(source, bytesPerSecond, pause) };
}

function logged(service: Service, arrival: Arrival): LoggedRequest {
  return {
    api: service.api,
    endpoint: service.endpointOf(arrival),
    node: service.targetOf(arrival),
    gateway: service.gateway,
    method: arrival.method,
    path: arrival.url.pathname + arrival.url.search,
    headers: headersOfInterest(arrival.headers),
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

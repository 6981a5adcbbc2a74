import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Reply } from './answer.ts';
import { readBody } from './body.ts';
import { headersOfInterest, type LoggedRequest, type RequestRecorder } from './request-log.ts';
import { sendAnswer } from './send.ts';

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
  readonly node: number;
  /** The operation's name for the request log and for faults. */
  endpointOf(arrival: Arrival): string;
  answer(arrival: Arrival): Promise<Reply>;
  readonly log: RequestRecorder;
  readonly now: () => number;
  readonly compresses: () => boolean;
  /** Headers that every answer of the API carries. */
  readonly headers: () => Readonly<Record<string, string>>;
}

/** Serves an API over node:http: reads, records, answers; a broken connection only ends the request. */
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
  const reply = await service.answer(arrival);
  response.setHeader('Date', new Date(service.now()).toUTCString());
  await deliver(service, request, response, reply, entry);
}

function logged(service: Service, arrival: Arrival): LoggedRequest {
  return {
    api: service.api,
    endpoint: service.endpointOf(arrival),
    node: service.node,
    method: arrival.method,
    path: arrival.url.pathname + arrival.url.search,
    headers: headersOfInterest(arrival.headers),
    startMs: service.now(),
    endMs: undefined,
    status: undefined,
  };
}

async function deliver(
  service: Service,
  request: IncomingMessage,
  response: ServerResponse,
  reply: Reply,
  entry: LoggedRequest,
): Promise<void> {
  if (reply === 'silence') return;
  if (reply === 'reset') {
    request.socket.resetAndDestroy();
    return;
  }
  for (const [name, value] of Object.entries(service.headers())) response.setHeader(name, value);
  entry.status = reply.status;
  await sendAnswer(response, reply, service.compresses() && wantsGzip(request));
}

function wantsGzip(request: IncomingMessage): boolean {
  const accepted = request.headers['accept-encoding'] ?? '';
  return /(?:^|[\s,])gzip(?!\s*;\s*q=0(?:\.0*)?(?:,|$))/.test(accepted);
}

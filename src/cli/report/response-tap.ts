import { subscribe, unsubscribe } from 'node:diagnostics_channel';

/** A response as it arrived, or the lack of one. */
export interface TappedResponse {
  readonly method: string;
  /** The path with its query. */
  readonly path: string;
  /** Undefined where no response came. */
  readonly status: number | undefined;
  /** Names of headers, in lower case. */
  readonly headers: readonly string[];
  readonly seconds: number;
  /** All bytes of the body, and its start. */
  readonly bytes: number;
  readonly start: Buffer;
}

/** How much of each body is kept while it arrives. */
const MAX_KEPT_BYTES = 2 * 1024 * 1024;

interface Arriving {
  readonly startedMs: number;
  status: number | undefined;
  headers: readonly string[];
  bytes: number;
  kept: Buffer[];
}

/** A request as undici describes it. */
interface SentRequest {
  readonly origin: unknown;
  readonly method: string;
  readonly path: string;
}

/**
 * Hands on each response from these origins, as undici publishes it: beside the client, so that nothing of what the exporter
 * does is another. Returns the function that ends it.
 */
export function tapResponses(
  origins: ReadonlySet<string>,
  onResponse: (response: TappedResponse) => void,
): () => void {
  const arriving = new WeakMap<object, Arriving>();
  const end = (event: unknown): void => {
    const request = requestOf(event);
    const found = request && arriving.get(request);
    if (request === undefined || found === undefined) return;
    arriving.delete(request);
    const { method, path } = request;
    const { startedMs, kept, ...rest } = found;
    const seconds = (performance.now() - startedMs) / 1000;
    onResponse({ method, path, ...rest, seconds, start: Buffer.concat(kept) });
  };
  const listeners: Readonly<Record<string, (event: unknown) => void>> = {
    'undici:request:create': (event) => {
      const request = requestOf(event);
      if (request === undefined || !origins.has(String(request.origin))) return;
      const startedMs = performance.now();
      arriving.set(request, { startedMs, status: undefined, headers: [], bytes: 0, kept: [] });
    },
    'undici:request:headers': (event) => {
      const found = arriving.get(requestOf(event) ?? {});
      if (found !== undefined) Object.assign(found, readHead(event));
    },
    'undici:request:bodyChunkReceived': (event) => {
      const found = arriving.get(requestOf(event) ?? {});
      const chunk = memberOf(event, 'chunk');
      if (found === undefined || !(chunk instanceof Uint8Array)) return;
      const left = Math.max(0, MAX_KEPT_BYTES - found.bytes);
      if (left > 0) found.kept.push(Buffer.from(chunk.subarray(0, left)));
      found.bytes += chunk.length;
    },
    'undici:request:trailers': end,
    'undici:request:error': end,
  };
  for (const [channel, listener] of Object.entries(listeners)) subscribe(channel, listener);
  return () => {
    for (const [channel, listener] of Object.entries(listeners)) unsubscribe(channel, listener);
  };
}

/** The own member of a value with this name; undefined where it has none. */
export function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  return Object.getOwnPropertyDescriptor(value, name)?.value;
}

function requestOf(event: unknown): SentRequest | undefined {
  const request = memberOf(event, 'request');
  return isRequest(request) ? request : undefined;
}

function isRequest(found: unknown): found is SentRequest {
  return typeof found === 'object' && found !== null && 'path' in found && 'method' in found;
}

/** Status and names of headers, which come as a list of names and values. */
function readHead(event: unknown): Pick<Arriving, 'status' | 'headers'> {
  const response = memberOf(event, 'response');
  const status = memberOf(response, 'statusCode');
  const raw = memberOf(response, 'headers');
  const names = (Array.isArray(raw) ? raw : []).filter((_, index) => index % 2 === 0);
  return {
    status: typeof status === 'number' ? status : undefined,
    headers: names.map((name: unknown) => String(name).toLowerCase()),
  };
}

import { setTimeout as sleep } from 'node:timers/promises';
import type { ClientRequest, HttpClient } from '../http/client.ts';
import { codeOf, RequestError } from '../http/errors.ts';
import type { Endpoint, HttpAnswer, HttpRequest } from '../http/exchange.ts';
import { noteAnswer, noteLimit, type Reading } from '../http/reading.ts';
import { gatherBody, type WholeBody } from '../http/whole-body.ts';
import { decodeValue } from '../json/decoder.ts';
import type { Infer, ObjectShape } from '../json/shape.ts';

/** A call that changes something is sent so often at the most. */
const MAX_ATTEMPTS = 3;
/** Before the first repeat; then twice as long. What the service asks for is kept by the HTTP client. */
const FIRST_BACKOFF_MS = 500;

/** Far above the largest honest answer, a bundle of certificates. */
export const MAX_ANSWER_BYTES = 1024 * 1024;

export interface CloudApiOptions {
  readonly http: HttpClient;
  readonly clusterId: string;
  /** The access token; asked for each time, since its file may change. */
  readonly token: () => Promise<string>;
  /** Cc-Version, a date; without it the service would answer in its newest dialect. */
  readonly apiVersion: string;
  /** Fields of a wrong shape. */
  readonly decodeErrors: (endpoint: Endpoint, count: number) => void;
}

interface Question {
  readonly method: HttpRequest['method'];
  readonly path: string;
  readonly endpoint?: Endpoint;
  readonly body?: Readonly<Record<string, string>>;
}

type Call<Nothing> = <S extends ObjectShape>(
  reading: Reading,
  question: Question & { readonly shape: S },
) => Promise<Infer<S> | Nothing>;

/** Calls on one cluster of the service, under its token and version. */
export interface Calls {
  readonly read: Call<never>;
  /**
   * Repeated only when the service has surely not begun with it. Resolves to undefined when the change was made and the
   * answer says no more (204).
   */
  readonly change: Call<undefined>;
}

const NO_CONTENT = 204;

export function createCalls(options: CloudApiOptions): Calls {
  return {
    async read(reading, question) {
      const { decode } = await call(options, reading, question);
      return decode();
    },
    async change(reading, question) {
      for (let attempts = 1; ; attempts += 1) {
        try {
          const { status, decode } = await call(options, reading, question);
          return status === NO_CONTENT ? undefined : decode();
        } catch (error) {
          if (attempts === MAX_ATTEMPTS || !wasRefused(error)) throw error;
          await sleep(FIRST_BACKOFF_MS * attempts, undefined, { signal: reading.signal });
        }
      }
    },
  };
}

/** One request that succeeded. */
interface Answered<S extends ObjectShape> {
  readonly status: number;
  readonly decode: () => Infer<S>;
}

async function call<S extends ObjectShape>(
  options: CloudApiOptions,
  reading: Reading,
  question: Question & { readonly shape: S },
): Promise<Answered<S>> {
  const whole = gatherBody(MAX_ANSWER_BYTES);
  const { status, bytes } = await send(options, reading, question, whole);
  reading.pages += 1;
  reading.items += 1;
  reading.bytes += bytes;
  return {
    status,
    decode() {
      const { value, wrong } = decodeValue(whole.bytes(), question.shape);
      options.decodeErrors(question.endpoint ?? 'other', wrong);
      return value;
    },
  };
}

async function send(
  { http, clusterId, token, apiVersion }: CloudApiOptions,
  reading: Reading,
  { endpoint = 'other', method, path, body }: Question,
  { maxBytes, onChunk }: WholeBody,
): Promise<HttpAnswer> {
  const headers = {
    authorization: `Bearer ${await token()}`,
    'cc-version': apiVersion,
    ...(body && { 'content-type': 'application/json' }),
  };
  const request: ClientRequest = {
    endpoint,
    method,
    path: `/api/v1/clusters/${encodeURIComponent(clusterId)}${path}`,
    headers,
    ...(body && { body: JSON.stringify(body) }),
    signal: reading.signal,
    // A change may be refused for what it says; a read says nothing but the token.
    sentToken: method === 'GET',
    maxBytes,
    onChunk,
    onAnswered: (span) => noteAnswer(reading, span),
  };
  try {
    return await http.send(request);
  } catch (error) {
    noteLimit(reading, error);
    throw error;
  }
}

/** Whether the service has surely not begun. */
function wasRefused(error: unknown): boolean {
  return (
    error instanceof RequestError && (error.status === 429 || codeOf(error) === 'ECONNREFUSED')
  );
}

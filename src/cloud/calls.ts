import { setTimeout as sleep } from 'node:timers/promises';
import type { HttpClient } from '../http/client.ts';
import { codeOf, RequestError } from '../http/errors.ts';
import type { Endpoint, HttpRequest } from '../http/exchange.ts';
import type { Reading } from '../http/reading.ts';
import { gatherBody } from '../http/whole-body.ts';
import { decodeValue } from '../json/decoder.ts';
import type { Infer, ObjectShape } from '../json/shape.ts';

/** A call that changes something is sent so often at the most. */
const MOST_TRIES = 3;
/** Before the first repeat; then twice as long. What the service asks for is kept by the HTTP client. */
const FIRST_PAUSE_MS = 500;

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

export interface Question {
  readonly method: HttpRequest['method'];
  readonly path: string;
  readonly endpoint?: Endpoint;
  readonly body?: Readonly<Record<string, string>>;
}

type Ask = <S extends ObjectShape>(
  reading: Reading,
  question: Question & { readonly shape: S },
) => Promise<Infer<S>>;

/** Calls on one cluster of the service, under its token and version. */
export interface Calls {
  /** A read, or one try of a change. */
  readonly ask: Ask;
  /** A change: repeated only when the service has surely not begun with it. */
  readonly change: Ask;
}

export function createCalls(options: CloudApiOptions): Calls {
  const base = `/api/v1/clusters/${encodeURIComponent(options.clusterId)}`;

  async function ask<S extends ObjectShape>(
    reading: Reading,
    question: Question & { readonly shape: S },
  ): Promise<Infer<S>> {
    const { endpoint = 'other', method, body, shape } = question;
    const whole = gatherBody();
    const answer = await options.http.send({
      endpoint,
      method,
      path: base + question.path,
      headers: {
        authorization: `Bearer ${await options.token()}`,
        'cc-version': options.apiVersion,
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
      signal: reading.signal,
      // A change may be refused for what it says; a read says nothing but the token.
      sentToken: method === 'GET',
      onChunk: whole.onChunk,
    });
    reading.pages += 1;
    reading.items += 1;
    reading.bytes += answer.bytes;
    const { value, wrong } = decodeValue(whole.bytes(), shape);
    options.decodeErrors(endpoint, wrong);
    return value;
  }

  async function change<S extends ObjectShape>(
    reading: Reading,
    question: Question & { readonly shape: S },
  ): Promise<Infer<S>> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await ask(reading, question);
      } catch (error) {
        if (tries === MOST_TRIES || !wasRefused(error)) throw error;
        await sleep(FIRST_PAUSE_MS * tries, undefined, { signal: reading.signal });
      }
    }
  }

  return { ask, change };
}

/** Whether the service has surely not begun. */
function wasRefused(error: unknown): boolean {
  return (
    error instanceof RequestError && (error.status === 429 || codeOf(error) === 'ECONNREFUSED')
  );
}

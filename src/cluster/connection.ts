import { orAborted } from '../http/abort.ts';
import type { ClientRequest, HttpClient } from '../http/client.ts';
import { RequestError } from '../http/errors.ts';
import type { Endpoint, HttpAnswer } from '../http/exchange.ts';
import { noteAnswer, noteLimit, type Reading, type Span } from '../http/reading.ts';
import { gatherBody } from '../http/whole-body.ts';
import { createDecoder, decodeValue } from '../json/decoder.ts';
import { type ObjectShape, type Infer, object, string } from '../json/shape.ts';
import { Session, type SessionOptions } from './session.ts';

/** Far above the largest honest element (a node with many stores: half a megabyte). */
const LIMITS = { elementBytes: 16 * 1024 * 1024, depth: 64 };
/** Answers that are read as a whole: a table of a thousand columns and grants has some 500 kB. */
const MAX_OBJECT_BYTES = 16 * 1024 * 1024;
/** Answers to a login or logout, which hold a token at the most. */
const MAX_SESSION_BYTES = 64 * 1024;

const loginAnswer = object({ session: string() });

/** A question to the cluster API: a GET, under the session. */
type Question = Pick<
  ClientRequest,
  'endpoint' | 'path' | 'repeatOn500' | 'firstUrl' | 'node' | 'proxied' | 'part'
>;

interface ListQuestion<S extends ObjectShape, E extends ObjectShape> extends Question {
  /** Member of the answer that holds the elements. */
  readonly list: string;
  readonly element: S;
  readonly envelope: E;
  /** The element is reused for the next one: fold it at once. */
  readonly onElement: (element: Infer<S>) => void;
}

interface ListAnswer<E extends ObjectShape> {
  /** Elements that the answer held, skipped ones included. */
  readonly elements: number;
  readonly envelope: Infer<E>;
  readonly dateMs: number | undefined;
}

/** One cluster's API as asked under a session: an answer goes through a decoder as it comes. */
export interface Connection {
  readList<S extends ObjectShape, E extends ObjectShape>(
    reading: Reading,
    question: ListQuestion<S, E>,
  ): Promise<ListAnswer<E>>;
  readObject<S extends ObjectShape>(
    reading: Reading,
    question: Question & { readonly shape: S },
  ): Promise<Infer<S>>;
  /** Ends the session that was created by a login here, if there is one. */
  logOut(signal: AbortSignal): Promise<void>;
}

/** What becomes of an answer. */
interface AnswerReader<T> {
  readonly maxBytes?: number;
  readonly onChunk: (chunk: Uint8Array) => void;
  /** Called at its end. */
  readonly understand: (answer: HttpAnswer) => T;
}

export interface ConnectionOptions {
  readonly http: HttpClient;
  readonly session: Omit<SessionOptions, 'login'>;
  /** Of one login; the calls that wait for it may give up earlier. */
  readonly loginTimeoutMs: number;
  /** Fields or elements of a wrong shape. */
  readonly decodeErrors: (endpoint: Endpoint, count: number) => void;
}

export function createConnection(options: ConnectionOptions): Connection {
  const session = new Session({
    ...options.session,
    login: (username, password) => logIn(options, username, password),
  });

  async function send<T>(
    reading: Reading,
    question: Question,
    reader: AnswerReader<T>,
  ): Promise<T> {
    const call = (headers: Record<string, string>): Promise<T> =>
      sendUnder(options.http, headers, { reading, question, reader });
    try {
      return await orAborted(session.run(call), reading.signal, question.endpoint);
    } catch (error) {
      noteLimit(reading, error);
      throw error;
    }
  }

  return {
    async readList(reading, question) {
      const decoder = createDecoder({ ...question, limits: LIMITS });
      const { end, dateMs } = await send(reading, question, {
        onChunk: (chunk) => decoder.write(chunk),
        understand(answer) {
          const decoded = decoder.end();
          if (!decoded.hasList) throw noList(question);
          return { end: decoded, dateMs: answer.dateMs };
        },
      });
      reading.items += end.elements;
      if (end.limitHit) reading.limits.add('bytes');
      options.decodeErrors(question.endpoint, end.skipped + end.wrong);
      return { elements: end.elements + end.skipped, envelope: end.envelope, dateMs };
    },

    async readObject(reading, question) {
      const body = gatherBody(MAX_OBJECT_BYTES);
      const { value, wrong } = await send(reading, question, {
        maxBytes: body.maxBytes,
        onChunk: body.onChunk,
        understand: () => decodeValue(body.bytes(), question.shape),
      });
      reading.items += 1;
      options.decodeErrors(question.endpoint, wrong);
      return value;
    },

    async logOut(signal) {
      const headers = session.takeCreated();
      if (headers !== undefined) await endSession(options.http, headers, signal);
    },
  };
}

/** An answer is understood under the session: one that makes no sense says nothing of the token and its header. */
async function sendUnder<T>(
  http: HttpClient,
  headers: Record<string, string>,
  asked: {
    readonly reading: Reading;
    readonly question: Question;
    readonly reader: AnswerReader<T>;
  },
): Promise<T> {
  const { reading, question, reader } = asked;
  const { signal, endsAtMs } = reading;
  const { understand, ...receiver } = reader;
  const understood = Promise.withResolvers<T>();
  await http.send({
    ...question,
    ...receiver,
    method: 'GET',
    headers,
    signal,
    endsAtMs,
    sentToken: true,
    onAnswered: (span: Span) => noteAnswer(reading, span),
    onEnd(answer) {
      reading.pages += 1;
      reading.bytes += answer.bytes;
      understood.resolve(understand(answer));
    },
  });
  return understood.promise;
}

/** Good JSON of something else is no empty listing: zeros would be invented. */
function noList({ endpoint, list }: { readonly endpoint: Endpoint; readonly list: string }): Error {
  return new RequestError('decode', `${endpoint}: the answer holds no \`${list}\``);
}

async function endSession(
  http: HttpClient,
  headers: Record<string, string>,
  signal: AbortSignal,
): Promise<void> {
  const request = { endpoint: 'logout', method: 'POST', path: '/logout/' } as const;
  const unread = { maxBytes: MAX_SESSION_BYTES, onChunk: () => undefined };
  await http.send({ ...request, headers, signal, ...unread });
}

/** POST /login/ with a form (a JSON body is not understood); resolves to the session token. */
async function logIn(
  options: ConnectionOptions,
  username: string,
  password: string,
): Promise<string> {
  const answer = gatherBody(MAX_SESSION_BYTES);
  try {
    await options.http.send({
      endpoint: 'login',
      method: 'POST',
      path: '/login/',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ username, password }).toString(),
      signal: AbortSignal.timeout(Math.ceil(options.loginTimeoutMs)),
      endsAtMs: performance.now() + options.loginTimeoutMs,
      repeatOn500: true,
      maxBytes: answer.maxBytes,
      onChunk: answer.onChunk,
    });
  } catch (error) {
    if (!(error instanceof RequestError) || error.status !== 400) throw error;
    throw error.as('auth', `${error.message} (the login was refused)`);
  }
  const { value } = decodeValue(answer.bytes(), loginAnswer);
  if (value.session) return value.session;
  throw new RequestError('decode', 'login: the answer holds no session');
}

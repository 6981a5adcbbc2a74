import type { HttpClient } from '../http/client.ts';
import type { Endpoint } from '../http/exchange.ts';
import { RequestError } from '../http/errors.ts';
import type { Reading } from '../http/reading.ts';
import { decodeValue } from '../json/decoder.ts';
import { type ObjectShape, type Infer, object, string } from '../json/shape.ts';

const errorBody = object({ message: string() });

/** The Cloud API v1 for one cluster, one method an endpoint. Failures are RequestErrors. */
export interface CloudApi {
  /** GET …/migration-assistant; undefined when the cluster has none. The answer holds a password. */
  assistant<S extends ObjectShape>(reading: Reading, shape: S): Promise<Infer<S> | undefined>;
}

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

export function createCloudApi(options: CloudApiOptions): CloudApi {
  const base = `/api/v1/clusters/${encodeURIComponent(options.clusterId)}`;

  async function read<S extends ObjectShape>(
    reading: Reading,
    question: { readonly endpoint: Endpoint; readonly path: string; readonly shape: S },
  ): Promise<Infer<S>> {
    const chunks: Uint8Array[] = [];
    const answer = await options.http.send({
      endpoint: question.endpoint,
      method: 'GET',
      path: base + question.path,
      headers: {
        authorization: `Bearer ${await options.token()}`,
        'cc-version': options.apiVersion,
      },
      signal: reading.signal,
      onChunk: (chunk) => chunks.push(chunk.slice()),
    });
    reading.pages += 1;
    reading.items += 1;
    reading.bytes += answer.bytes;
    const { value, wrong } = decodeValue(Buffer.concat(chunks), question.shape);
    options.decodeErrors(question.endpoint, wrong);
    return value;
  }

  return {
    async assistant(reading, shape) {
      try {
        return await read(reading, { endpoint: 'assistant', path: '/migration-assistant', shape });
      } catch (error) {
        if (isNone(error)) return undefined;
        throw error;
      }
    },
  };
}

/** A 404 means that there is no assistant, unless its message says that there is no such cluster. */
function isNone(error: unknown): boolean {
  if (!(error instanceof RequestError) || error.status !== 404) return false;
  const message = readMessage(error.serverText);
  return !/cluster/i.test(message) || /assistant/i.test(message);
}

/** `message` of the service's error body; a body of another kind is its own message. */
function readMessage(text: string): string {
  try {
    return decodeValue(Buffer.from(text), errorBody).value.message ?? '';
  } catch {
    return text;
  }
}

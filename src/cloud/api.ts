import { RequestError } from '../http/errors.ts';
import type { Reading } from '../http/reading.ts';
import { decodeValue } from '../json/decoder.ts';
import { type ObjectShape, type Infer, object, string } from '../json/shape.ts';
import { type Calls, type CloudApiOptions, createCalls, type Question } from './calls.ts';

const errorBody = object({ message: string() });
const database = object({ name: string(), table_count: string() });
const certificate = object({ x509_pem_cert: string() });

/** What a collector may ask of the Cloud API v1 for one cluster. Failures are RequestErrors. */
export interface CloudApi {
  /** GET …/migration-assistant; undefined when the cluster has none. The answer holds a password. */
  assistant<S extends ObjectShape>(reading: Reading, shape: S): Promise<Infer<S> | undefined>;
}

/**
 * All of it, one method an endpoint. A call that changes something is repeated only when the service has surely
 * not begun with it: 429, or no connection at all.
 */
export interface CloudControl extends CloudApi {
  /** POST …/migration-assistant: PENDING from then on. Without a region the service chooses one. */
  provisionAssistant<S extends ObjectShape>(
    reading: Reading,
    wish: { readonly region?: string | undefined; readonly shape: S },
  ): Promise<Infer<S>>;
  /** DELETE …/migration-assistant: DELETING from then on. */
  deleteAssistant<S extends ObjectShape>(reading: Reading, shape: S): Promise<Infer<S>>;
  /** PATCH …/databases. */
  renameDatabase(
    reading: Reading,
    names: { readonly name: string; readonly newName: string },
  ): Promise<Infer<typeof database>>;
  /** GET …/migration-assistant/source-ca-cert as PEM; '' while the system's roots are trusted. */
  caCertificate(reading: Reading): Promise<string>;
  /** PATCH of the same; resolves to what is trusted now. */
  setCaCertificate(reading: Reading, pem: string): Promise<string>;
  /** DELETE of the same; resolves to what was deleted. */
  deleteCaCertificate(reading: Reading): Promise<string>;
}

export function createCloudApi(options: CloudApiOptions): CloudControl {
  const { ask, change } = createCalls(options);

  return {
    async assistant(reading, shape) {
      try {
        return await ask(reading, { ...ASSISTANT, method: 'GET', shape });
      } catch (error) {
        if (isNone(error)) return undefined;
        throw error;
      }
    },
    provisionAssistant(reading, { region, shape }) {
      const body = region === undefined ? {} : { region };
      return change(reading, { ...ASSISTANT, method: 'POST', body, shape });
    },
    deleteAssistant(reading, shape) {
      return change(reading, { ...ASSISTANT, method: 'DELETE', shape });
    },
    renameDatabase(reading, { name, newName }) {
      const body = { name, new_name: newName };
      return change(reading, { method: 'PATCH', path: '/databases', body, shape: database });
    },
    caCertificate: (reading) => askCertificate(ask, reading, { method: 'GET' }),
    setCaCertificate(reading, pem) {
      const body = { x509_pem_cert: pem };
      return askCertificate(change, reading, { method: 'PATCH', body });
    },
    deleteCaCertificate: (reading) => askCertificate(change, reading, { method: 'DELETE' }),
  };
}

async function askCertificate(
  call: Calls['ask'],
  reading: Reading,
  question: Pick<Question, 'method' | 'body'>,
): Promise<string> {
  const path = '/migration-assistant/source-ca-cert';
  const answer = await call(reading, { ...question, path, shape: certificate });
  return answer.x509_pem_cert ?? '';
}

const ASSISTANT = { endpoint: 'assistant', path: '/migration-assistant' } as const;

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

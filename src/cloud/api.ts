import { RequestError } from '../http/errors.ts';
import type { Reading } from '../http/reading.ts';
import { decodeValue } from '../json/decoder.ts';
import { type ObjectShape, type Infer, object, string } from '../json/shape.ts';
import { type CloudApiOptions, createCalls } from './calls.ts';

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
 * not begun with it: 429, or no connection at all. It resolves to undefined when the change was made and the service
 * says no more.
 */
export interface CloudControl extends CloudApi {
  /** POST …/migration-assistant: PENDING from then on. Without a region the service chooses one. */
  provisionAssistant<S extends ObjectShape>(
    reading: Reading,
    wish: { readonly region?: string | undefined; readonly shape: S },
  ): Promise<Infer<S> | undefined>;
  /** DELETE …/migration-assistant: DELETING from then on. */
  deleteAssistant<S extends ObjectShape>(reading: Reading, shape: S): Promise<Infer<S> | undefined>;
  /** PATCH …/databases. */
  renameDatabase(
    reading: Reading,
    names: { readonly name: string; readonly newName: string },
  ): Promise<Infer<typeof database> | undefined>;
  /** GET …/migration-assistant/source-ca-cert as PEM; '' while the system's roots are trusted. */
  caCertificate(reading: Reading): Promise<string>;
  /** PATCH of the same; resolves to what is trusted now. */
  setCaCertificate(reading: Reading, pem: string): Promise<string | undefined>;
  /** DELETE of the same; resolves to what was deleted. */
  deleteCaCertificate(reading: Reading): Promise<string | undefined>;
}

export function createCloudApi(options: CloudApiOptions): CloudControl {
  const { read, change } = createCalls(options);

  return {
    async assistant(reading, shape) {
      try {
        return await read(reading, { ...ASSISTANT, method: 'GET', shape });
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
    async caCertificate(reading) {
      const { x509_pem_cert: pem = '' } = await read(reading, { ...CA_CERT, method: 'GET' });
      return pem;
    },
    async setCaCertificate(reading, pem) {
      const body = { x509_pem_cert: pem };
      const answer = await change(reading, { ...CA_CERT, method: 'PATCH', body });
      return answer?.x509_pem_cert;
    },
    async deleteCaCertificate(reading) {
      const answer = await change(reading, { ...CA_CERT, method: 'DELETE' });
      return answer?.x509_pem_cert;
    },
  };
}

const ASSISTANT = { endpoint: 'assistant', path: '/migration-assistant' } as const;
const CA_CERT = { path: '/migration-assistant/source-ca-cert', shape: certificate };

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

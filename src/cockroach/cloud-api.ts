import {
  decodeValue,
  type Infer,
  integer,
  object,
  type ObjectShape,
  optional,
  string,
} from '#json';
import type { HttpClient } from './http/client.ts';
import { RequestError } from './http/errors.ts';
import { type CountDecodeErrors, type PollStats, recordDecodeErrors } from './http/poll-stats.ts';
import { bufferBody, type HttpRequest, requestName } from './http/request.ts';

/** Far above the largest legitimate response, a bundle of certificates. */
export const MAX_CLOUD_RESPONSE_BYTES = 1024 * 1024;
const NO_CONTENT = 204;

export const errorBody = object({ code: integer(), message: string() });
/** The gRPC code of what does not exist. */
const NOT_FOUND = 5;
const ASSISTANT = { endpoint: 'assistant', path: '/migration-assistant', identity: 'id' } as const;
export const DATABASES = {
  endpoint: 'other',
  name: 'rename-database',
  path: '/databases',
  identity: 'name',
  shape: object({ name: string(), table_count: string() }),
} as const;
export const CA_CERT = {
  endpoint: 'other',
  path: '/migration-assistant/source-ca-cert',
  identity: 'x509_pem_cert',
  // Without a bundle the assistant trusts the system's roots.
  mayBeEmpty: true,
  shape: object({ x509_pem_cert: optional(string()) }),
} as const;

interface CloudApiOptions {
  readonly http: HttpClient;
  readonly clusterId: string;
  /** The access token; read for each request, since its file may change. */
  readonly token: () => Promise<string>;
  /** Cc-Version, a date; without it the service would answer in its newest dialect. */
  readonly apiVersion: string;
  /** Fields of a wrong shape. */
  readonly decodeErrors: CountDecodeErrors;
}

interface CloudRequest<S extends ObjectShape> extends Pick<
  HttpRequest,
  'endpoint' | 'name' | 'path'
> {
  readonly body?: Readonly<Record<string, string>>;
  readonly shape: S;
  /** A field of every response of the service. An error with status 200 has none, nor has what a proxy sends. */
  readonly identity: string;
  /** Whether an empty text of that field is a good response, too. */
  readonly mayBeEmpty?: boolean;
}

/** The part of the Cloud API that collectors read. */
export type CloudApi = Pick<CloudControl, 'assistant'>;

/**
 * The Cloud API v1 for one cluster, one method an endpoint. Failures are RequestErrors. A call that changes something
 * resolves to undefined when the change was made and the response is empty.
 */
export class CloudControl {
  readonly #options: CloudApiOptions;

  constructor(options: CloudApiOptions) {
    this.#options = options;
  }

  /** GET …/migration-assistant; undefined when the cluster has none. The response holds a password. */
  async assistant<S extends ObjectShape>(stats: PollStats, shape: S) {
    try {
      return await this.#send(stats, 'GET', { ...ASSISTANT, shape });
    } catch (error) {
      if (isNone(error, this.#options.clusterId)) return undefined;
      throw error;
    }
  }

  /** POST …/migration-assistant: PENDING from then on. Without a region the service chooses one. */
  provisionAssistant<S extends ObjectShape>(
    stats: PollStats,
    { region, shape }: { readonly region?: string | undefined; readonly shape: S },
  ) {
    const body = region === undefined ? {} : { region };
    return this.#change(stats, 'POST', { ...ASSISTANT, body, shape });
  }

  /** DELETE …/migration-assistant: DELETING from then on. */
  deleteAssistant<S extends ObjectShape>(stats: PollStats, shape: S) {
    return this.#change(stats, 'DELETE', { ...ASSISTANT, shape });
  }

  /** PATCH …/databases. */
  renameDatabase(
    stats: PollStats,
    { name, newName }: { readonly name: string; readonly newName: string },
  ) {
    return this.#change(stats, 'PATCH', { ...DATABASES, body: { name, new_name: newName } });
  }

  /** GET …/migration-assistant/source-ca-cert as PEM; '' while the system's roots are trusted. */
  async caCertificate(stats: PollStats): Promise<string> {
    const response = await this.#send(stats, 'GET', { ...CA_CERT, name: 'ca-cert-get' });
    return response?.x509_pem_cert ?? '';
  }

  /** PATCH …/migration-assistant/source-ca-cert. */
  async setCaCertificate(stats: PollStats, pem: string): Promise<void> {
    const request = { ...CA_CERT, name: 'ca-cert-set', body: { x509_pem_cert: pem } };
    await this.#change(stats, 'PATCH', request);
  }

  /** DELETE …/migration-assistant/source-ca-cert; resolves to what was deleted. */
  async deleteCaCertificate(stats: PollStats): Promise<string | undefined> {
    const request = { ...CA_CERT, name: 'ca-cert-delete' };
    return (await this.#change(stats, 'DELETE', request))?.x509_pem_cert;
  }

  async #change<S extends ObjectShape>(
    stats: PollStats,
    method: 'POST' | 'PATCH' | 'DELETE',
    request: CloudRequest<S>,
  ) {
    stats.mayHaveChanged = !stats.signal.aborted;
    try {
      const response = await this.#send(stats, method, request);
      stats.mayHaveChanged = false;
      return response;
    } catch (error) {
      if (error instanceof RequestError && error.wasRefused) stats.mayHaveChanged = false;
      throw error;
    }
  }

  async #send<S extends ObjectShape>(
    stats: PollStats,
    method: HttpRequest['method'],
    { path, body, shape, identity, mayBeEmpty = false, ...named }: CloudRequest<S>,
  ): Promise<Infer<S> | undefined> {
    const { http, clusterId, token, apiVersion, decodeErrors } = this.#options;
    const headers = {
      authorization: `Bearer ${await token()}`,
      'cc-version': apiVersion,
      ...(body && { 'content-type': 'application/json' }),
    };
    const isRead = method === 'GET';
    return http.send({
      ...named,
      method,
      path: `/api/v1/clusters/${encodeURIComponent(clusterId)}${path}`,
      headers,
      ...(body && { body: JSON.stringify(body) }),
      stats,
      // A change may be refused for its content; a read sends nothing but the token.
      sentToken: isRead,
      ...bufferBody(MAX_CLOUD_RESPONSE_BYTES, (bytes, { status }) => {
        stats.items += 1;
        if (status === NO_CONTENT && !isRead) return undefined;
        const { value, wrongTypes } = decodeValue(bytes, shape);
        recordDecodeErrors(decodeErrors, stats, named.endpoint, wrongTypes);
        const found: unknown = Reflect.get(value, identity);
        if (found === undefined || (found === '' && !mayBeEmpty)) {
          const text = `${requestName(named)}: the response has no text ${identity}`;
          throw new RequestError('decode', text, { endpoint: named.endpoint });
        }
        return value;
      }),
    });
  }
}

/** A 404 of the service means that there is no assistant, unless its message names the cluster, by that word or its id. */
function isNone(error: unknown, clusterId: string): boolean {
  if (!(error instanceof RequestError) || error.status !== 404) return false;
  const message = readNotFound(error.serverText);
  // The gateway does not know the path: the version that is requested has no assistants.
  if (message === undefined || /^not found$/i.test(message.trim())) return false;
  const isOfCluster = /cluster/i.test(message) || message.includes(clusterId);
  return !isOfCluster || /assistant/i.test(message);
}

/** The message of the service in the body of a 404; undefined where another server responds, as a proxy. */
export function readNotFound(body: string): string | undefined {
  try {
    const { code, message = '' } = decodeValue(Buffer.from(body), errorBody).value;
    return code === NOT_FOUND && message !== '' ? message : undefined;
  } catch {
    return undefined;
  }
}

import { request as requestPlain } from 'node:http';
import { request as requestTls } from 'node:https';

/** How to reach a cluster. */
export interface Access {
  readonly urls: readonly string[];
  readonly username: string | undefined;
  readonly password: string | undefined;
  /** PEM. */
  readonly ca: string | undefined;
}

/** A row of SQL: texts, numbers, booleans, and null for NULL. */
export type Row = Readonly<Record<string, string | number | boolean | null>>;

interface Response {
  readonly status: number;
  readonly text: string;
}

const TIMEOUT_MS = 30_000;

/** A client of the server that shares no code with the exporter: SQL by the API, and the nodes' own metrics. */
export class LiveServer {
  readonly #access: Access;
  #token: string | undefined;

  constructor(access: Access) {
    this.#access = access;
  }

  /** The rows of a statement at the first URL that responds; undefined where the server refuses the statement. */
  async query(sql: string): Promise<readonly Row[] | undefined> {
    const body = JSON.stringify({
      execute: true,
      database: 'system',
      timeout: '20s',
      max_result_size: 1_000_000,
      statements: [{ sql }],
    });
    const { status, text } = await this.#send('POST', '/api/v2/sql/', body);
    if (status !== 200) return undefined;
    const { error, txn_error, execution } = JSON.parse(text);
    if (error !== undefined || txn_error !== undefined) return undefined;
    return execution.txn_results[0].rows ?? [];
  }

  /** The metrics of the node behind each URL: `name{store="1"}` with its value, by node id. */
  async vars(): Promise<ReadonlyMap<number, ReadonlyMap<string, number>>> {
    const nodes = new Map<number, ReadonlyMap<string, number>>();
    for (const url of this.#access.urls) {
      const response = await this.#sendTo(url, 'GET', '/_status/vars').catch(() => undefined);
      if (response?.status !== 200) continue;
      const values = readVars(response.text);
      if (values !== undefined) nodes.set(values.nodeId, values.values);
    }
    return nodes;
  }

  async #send(method: string, path: string, body?: string): Promise<Response> {
    let failure: unknown;
    for (const url of this.#access.urls) {
      try {
        this.#token ??= await this.#logIn(url);
        return await this.#sendTo(url, method, path, body);
      } catch (error) {
        failure = error;
      }
    }
    throw failure;
  }

  /** An empty token for a cluster without login. */
  async #logIn(url: string): Promise<string> {
    const { username, password } = this.#access;
    if (username === undefined) return '';
    const form = new URLSearchParams({ username, password: password ?? '' }).toString();
    const { status, text } = await this.#sendTo(url, 'POST', '/api/v2/login/', form, FORM);
    if (status !== 200) throw new Error(`login: HTTP ${status}`);
    return String(JSON.parse(text).session);
  }

  #sendTo(
    url: string,
    method: string,
    path: string,
    body?: string,
    contentType = 'application/json',
  ): Promise<Response> {
    const send = url.startsWith('https:') ? requestTls : requestPlain;
    const headers = {
      'content-type': contentType,
      ...(this.#token && {
        'X-Cockroach-API-Session': this.#token,
        'X-Service-API-Session': this.#token,
      }),
    };
    return new Promise((resolve, reject) => {
      const target = new URL(path, url);
      const options = { method, headers, ca: this.#access.ca, timeout: TIMEOUT_MS };
      const sent = send(target, options, (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => (text += chunk));
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
        response.on('error', reject);
      });
      sent.on('error', reject);
      sent.on('timeout', () => sent.destroy(new Error(`${path}: no response`)));
      sent.end(body);
    });
  }
}

const FORM = 'application/x-www-form-urlencoded';

/** The values of `/_status/vars`; undefined where no node id is in them. */
function readVars(text: string) {
  const values = new Map<string, number>();
  let nodeId: number | undefined;
  for (const line of text.split('\n')) {
    const [, name = '', labels = '', value = ''] = /^(\w+)(?:\{(.*)\})? (\S+)/.exec(line) ?? [];
    if (name === '') continue;
    const store = /store="(\d+)"/.exec(labels)?.[1];
    values.set(store === undefined ? name : `${name}{store="${store}"}`, Number(value));
    const id = /node_id="(\d+)"/.exec(labels)?.[1] ?? (name === 'node_id' ? value : undefined);
    if (id !== undefined) nodeId ??= Number(id);
  }
  return nodeId === undefined ? undefined : { nodeId, values };
}

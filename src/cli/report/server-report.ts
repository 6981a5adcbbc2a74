import { FieldCounts } from './field-counts.ts';
import { isKnownName, READ_KEYS, wordsOf } from './known-words.ts';
import { memberOf, type TappedResponse } from './response-tap.ts';
import { completeJson } from './truncated-json.ts';

/** Requests of the cluster API by their paths; ids and names in a path are no part of the name. */
const REQUESTS = [
  '/api/v2/health/',
  '/api/v2/login/',
  '/api/v2/logout/',
  '/api/v2/nodes/',
  '/api/v2/nodes/{node_id}/ranges/',
  '/api/v2/sessions/',
  '/api/v2/users/',
  '/api/v2/sql/',
  '/api/v2/table_metadata/',
  '/api/v2/databases/{database}/tables/{table}/',
  '/_status/ranges/{node_id}',
  '/_status/connectivity',
  '/_status/throttling',
  '/_admin/v1/jobs',
].map((name) => ({ name, path: new RegExp(`${name.replaceAll(/\{\w+\}/g, '[^/]+')}$`) }));

/** Names of headers that servers and proxies send; others may name a company. */
const HEADERS = new Set(
  `accept-ranges age cache-control connection content-encoding content-length content-type date etag expires keep-alive location
  retry-after server set-cookie strict-transport-security transfer-encoding vary via www-authenticate x-cache
  x-content-type-options x-frame-options x-request-id`
    .trim()
    .split(/\s+/),
);

interface RequestReport {
  readonly request: string;
  /** How often each status came; `none` without a response. */
  readonly statuses: Record<string, number>;
  /** The longest time, ms. */
  milliseconds: number;
  /** The bytes of all bodies, and of the bodies that were looked at. */
  bytes: number;
  readBytes: number;
  /** Bodies that were looked at, and how many of them only at their start. */
  readResponses: number;
  cutResponses: number;
  readonly headers: Record<string, number>;
}

const RELEASE = /^v\d{1,3}\.\d{1,3}\.\d{1,3}(?:-(?:alpha|beta|rc)\.\d{1,3})?$/;

/**
 * What a maintainer needs to know of a server that he cannot reach: which fields and metrics it sends, with their types and
 * statuses. It holds no name, address, text, key, id, locality or SQL: names of fields consist of known words only (the others are
 * `*`), numbers are counts, times, sizes, and small enumerations.
 */
export class ServerReport {
  readonly #requests = new Map<string, RequestReport>();
  readonly #fields = new Map<string, FieldCounts>();
  /** Paths with their queries; no part of the report. */
  readonly #readPaths = new Set<string>();
  readonly #versions = new Set<string>();
  readonly #metrics = new Set<string>();
  /** The kind of the lease of each range, and the replicas and voters of each, by its id: a range is counted once. */
  readonly #leases = new Map<number, string>();
  readonly #replicas = new Map<number, string>();
  readonly #voters = new Map<number, string>();
  /** Ids of ranges by a node that lists them, for the request of their descriptors; no part of the report. */
  readonly listed: { nodeId: number; readonly rangeIds: number[] } = { nodeId: 0, rangeIds: [] };

  add(response: TappedResponse): void {
    const { method, path, status, headers, seconds, bytes, start } = response;
    const pathname = path.split('?')[0] ?? '';
    const known = REQUESTS.find((each) => each.path.test(pathname))?.name;
    const request = `${method} ${known ?? 'other'}`;
    const found = this.#requests.get(request) ?? {
      request,
      statuses: {},
      milliseconds: 0,
      bytes: 0,
      readBytes: 0,
      readResponses: 0,
      cutResponses: 0,
      headers: {},
    };
    this.#requests.set(request, found);
    increase(found.statuses, String(status ?? 'none'));
    found.milliseconds = Math.max(found.milliseconds, Math.ceil(seconds * 1000));
    found.bytes += bytes;
    for (const name of headers) increase(found.headers, HEADERS.has(name) ? name : 'other');
    const isGood = status !== undefined && status >= 200 && status < 300;
    // A list that is read again has the same elements: they count once.
    const isRepeated = method === 'GET' && this.#readPaths.has(path);
    if (known === undefined || !isGood || isRepeated) return;
    const isCut = bytes > start.length;
    const document = parse(start, isCut);
    if (document === undefined) return;
    this.#readPaths.add(path);
    found.readBytes += start.length;
    found.readResponses += 1;
    found.cutResponses += Number(isCut);
    const fields = this.#fields.get(request) ?? new FieldCounts();
    this.#fields.set(request, fields);
    fields.add(document);
    this.#addFacts(known, document);
  }

  /** Counts what single fields mean. */
  #addFacts(request: string, document: unknown): void {
    const elements = (name: string): readonly unknown[] => listOf(memberOf(document, name));
    if (request === '/api/v2/nodes/') {
      for (const node of elements('nodes')) {
        const build = memberOf(node, 'build_tag');
        const isRelease = typeof build === 'string' && RELEASE.test(build);
        this.#versions.add(isRelease ? build : 'other');
        for (const key of keysOf(memberOf(node, 'metrics'))) this.#metrics.add(key);
        for (const store of valuesOf(memberOf(node, 'store_metrics'))) {
          for (const key of keysOf(store)) this.#metrics.add(key);
        }
      }
    }
    if (request === '/api/v2/nodes/{node_id}/ranges/') {
      for (const range of elements('ranges')) this.#addRange(range);
    }
    if (request === '/_status/ranges/{node_id}') {
      for (const range of elements('ranges')) this.#addDescriptor(range);
    }
  }

  #addRange(range: unknown): void {
    const lease = listOf(memberOf(range, 'lease_history')).at(-1);
    const isSet = (name: string): boolean => (numberOf(memberOf(lease, name)) ?? 0) > 0;
    const kind = isSet('term') ? 'leader' : isSet('epoch') ? 'epoch' : 'expiration';
    const rangeId = numberOf(memberOf(memberOf(range, 'desc'), 'range_id'));
    const nodeId = numberOf(memberOf(range, 'source_node_id'));
    if (rangeId === undefined || nodeId === undefined) return;
    this.#leases.set(rangeId, lease === undefined ? 'none' : kind);
    this.listed.nodeId ||= nodeId;
    const { rangeIds } = this.listed;
    if (this.listed.nodeId === nodeId && rangeIds.length < MAX_DESCRIPTORS) rangeIds.push(rangeId);
  }

  #addDescriptor(range: unknown): void {
    const desc = memberOf(memberOf(memberOf(range, 'state'), 'state'), 'desc');
    const rangeId = Number(memberOf(desc, 'rangeId'));
    const replicas = listOf(memberOf(desc, 'internalReplicas'));
    const voters = replicas.filter((replica) => (numberOf(memberOf(replica, 'type')) ?? 0) === 0);
    this.#replicas.set(rangeId, String(replicas.length));
    this.#voters.set(rangeId, String(voters.length));
  }

  /** The report as JSON; `scan` is which nodes were asked for their ranges. */
  toJSON(exporterVersion: string, scan: 'one node' | 'all nodes'): object {
    const requests = [...this.#requests.values()].toSorted(byRequest).map((request) => {
      const { fields, enumerations } = this.#fields.get(request.request) ?? new FieldCounts();
      const values = Array.from(enumerations, ([path, counts]) => [path, sorted(counts)] as const);
      return {
        ...request,
        fields: Object.fromEntries(
          Object.entries(sorted(fields)).map(([path, counts]) => [path, formatCounts(counts)]),
        ),
        enumerations: sorted(new Map(values)),
      };
    });
    const missing = READ_KEYS.filter((key) => !this.#metrics.has(key)).toSorted();
    return {
      format: 1,
      exporter: exporterVersion,
      scan,
      versions: [...this.#versions].toSorted(),
      keysAre: this.#findKeys(),
      requests,
      metrics: {
        sent: this.#metrics.size,
        read: READ_KEYS.length,
        missing,
        similar: Object.fromEntries(
          missing.flatMap((key) => {
            const similar = this.#findSimilar(key);
            return similar.length === 0 ? [] : [[key, similar]];
          }),
        ),
      },
      ranges: {
        listed: this.#leases.size,
        leases: tally(this.#leases),
        described: this.#replicas.size,
        replicas: tally(this.#replicas),
        voters: tally(this.#voters),
      },
    };
  }

  /** How the server writes bytes; undefined where it sent none. */
  #findKeys(): 'text' | 'numbers' | undefined {
    const { fields } = this.#fields.get('GET /api/v2/nodes/{node_id}/ranges/') ?? new FieldCounts();
    const { text, list } = fields.get('ranges[].desc.end_key') ?? {};
    if (list !== undefined) return 'numbers';
    return text === undefined ? undefined : 'text';
  }

  /** Keys that the server sends and the exporter does not read, with mostly the same words: the metric may have been renamed. */
  #findSimilar(key: string): readonly string[] {
    const wanted = new Set(wordsOf(key));
    return [...this.#metrics]
      .filter((sent) => !READ_KEYS.includes(sent) && isKnownName(sent))
      .map((sent) => {
        const words = new Set(wordsOf(sent));
        const common = wanted.intersection(words).size;
        return { sent, share: common / wanted.union(words).size };
      })
      .filter(({ share }) => share >= MIN_COMMON_WORDS)
      .toSorted((a, b) => b.share - a.share || (a.sent < b.sent ? -1 : 1))
      .slice(0, MAX_SIMILAR)
      .map(({ sent }) => sent);
  }
}

/** `number 12, null 2`. */
function formatCounts(counts: object): string {
  return Object.entries(counts)
    .map(([type, count]) => `${type} ${count}`)
    .join(', ');
}

const MIN_COMMON_WORDS = 0.6;
const MAX_SIMILAR = 3;
/** A response has some 4 kB for each. */
const MAX_DESCRIPTORS = 50;

function parse(start: Buffer, isCut: boolean): unknown {
  try {
    return JSON.parse(isCut ? (completeJson(start) ?? '') : start.toString()) as unknown;
  } catch (error) {
    // A text in place of JSON has no fields: its status and size tell enough.
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function increase(counts: Record<string, number>, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1;
}

/** How many of the entries have each value. */
function tally(values: ReadonlyMap<number, string>): Readonly<Record<string, number>> {
  const groups = Map.groupBy(values.values(), (value) => value);
  return sorted(new Map(Array.from(groups, ([value, { length }]) => [value, length])));
}

function sorted<Value>(map: ReadonlyMap<string, Value>): Readonly<Record<string, Value>> {
  return Object.fromEntries([...map].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function byRequest(a: RequestReport, b: RequestReport): number {
  return a.request < b.request ? -1 : 1;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

function keysOf(value: unknown): readonly string[] {
  return typeof value === 'object' && value !== null ? Object.keys(value) : [];
}

function valuesOf(value: unknown): readonly unknown[] {
  return typeof value === 'object' && value !== null ? Object.values(value) : [];
}

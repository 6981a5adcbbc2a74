import * as v from 'valibot';
import { readDocument } from './document.ts';
import { type ConfigIssue, ConfigIssues, isContainer, isMap } from './issues.ts';
import { asksForTls, readServerTls, type ServerTls, TLS_SERVER } from './server-tls.ts';
import { validate } from './validate.ts';
import { integer, invalid, oldBoolean, parseDuration, section } from './values.ts';

/**
 * The content of a web config file, in the format of the Prometheus exporter toolkit
 * (https://github.com/prometheus/exporter-toolkit/blob/master/docs/web-configuration.md), checked and
 * with the files that it names already read.
 */
export interface WebConfig {
  readonly tls?: ServerTls | undefined;
  /** Headers of every response. */
  readonly headers: Readonly<Record<string, string>>;
  /** Users and the bcrypt hashes of their passwords; without users, no password is needed. */
  readonly users: ReadonlyMap<string, string>;
  /** One request per interval on average, with bursts; 0 of them lets nothing through, as in the toolkit. */
  readonly rateLimit?: { readonly intervalSeconds: number; readonly burst: number } | undefined;
}

/** The settings without a web config file. */
const NO_WEB_CONFIG: WebConfig = { headers: {}, users: new Map() };

const BCRYPT_HASH = /^\$2[aby]?\$(0[4-9]|[12]\d|3[01])\$[./A-Za-z\d]{53}$/;
/** Each step doubles the time of a comparison. Above this one the first login of a user may take longer than a scrape. */
const MAX_USUAL_COST = 15;
const MAKE_HASH = 'make one with `htpasswd -nBC 10 ""` and remove the colon';

/**
 * Users and the hashes of their passwords. Its messages never show a value: it may be a password. A key without users, which
 * may be the last line of a file that was cut off, must not open access to everybody.
 */
const users = v.pipe(
  v.custom<Record<string, string>>(
    (value) => isMap(value) && Object.keys(value).length > 0,
    'lists no users: write each as `name: hash`, or remove the key',
  ),
  v.rawCheck(({ dataset: { value: input }, addIssue }) => {
    if (!isMap(input)) return;
    for (const [key, value] of Object.entries(input)) {
      const colon = 'a name with a colon cannot log in: remove it';
      const message = key.includes(':') ? colon : findHashFault(value);
      const path = { type: 'object', origin: 'value', input, key, value } as const;
      if (message !== undefined) addIssue({ message, path: [path] });
    }
  }),
);

function findHashFault(value: unknown): string | undefined {
  if (typeof value === 'string' && BCRYPT_HASH.test(value)) return undefined;
  return `the value is not a bcrypt hash: ${MAKE_HASH}`;
}

/** Whether comparing a password takes too long for the others to wait for it. */
export function isSlowHash(hash: string): boolean {
  return costOf(hash) > MAX_USUAL_COST;
}

function costOf(hash: string): number {
  return Number(BCRYPT_HASH.exec(hash)?.[1]);
}

/** Texts that Node.js sends as the value of a header. */
const HEADER_VALUE = /^[\t -~\u0080-\u00FF]*$/;

/** The value of a header, one of the `allowed` where only some make sense. */
function header(allowed?: readonly string[]) {
  return v.exactOptional(
    v.pipe(
      v.custom<string | number | boolean>(
        (value) => !isContainer(value) && HEADER_VALUE.test(String(value)),
        'is not the value of a header: write one line of text',
      ),
      v.transform(String),
      v.check(
        (value) => value === '' || (allowed?.includes(value.toLowerCase()) ?? true),
        `is not a value of this header: write ${allowed?.join(' or ')}`,
      ),
    ),
  );
}

// The keys and their meanings are those of the toolkit, so that a file written for another exporter can be used.
const HEADERS = section({
  'Strict-Transport-Security': header(),
  'X-Content-Type-Options': header(['nosniff']),
  'X-Frame-Options': header(['deny', 'sameorigin']),
  'X-XSS-Protection': header(),
  'Content-Security-Policy': header(),
});
const HTTP_SERVER = section({
  http2: v.optional(oldBoolean, true),
  headers: v.optional(HEADERS, {}),
});
/** Seconds, written as Prometheus does (`1d`) or as Go does (`1.5s`); the number 0 turns the limit off. */
const intervalValue = v.pipe(
  v.custom<string | 0>(
    (value) => value === 0 || (typeof value === 'string' && parseInterval(value) !== undefined),
    invalid('is not an interval: write it with units, as 30s, 1.5s or 100ms, or 0 for no limit'),
  ),
  v.transform((written) => (written === 0 ? 0 : (parseInterval(written) ?? 0))),
);

const GO_UNITS: Readonly<Record<string, number>> = {
  ns: 1e-9,
  us: 1e-6,
  ms: 1e-3,
  s: 1,
  m: 60,
  h: 3_600,
};

function parseInterval(written: string): number | undefined {
  const parts = written.replaceAll(/[µμ]s/g, 'us');
  if (!/^(?:\d+(?:\.\d+)?(?:[num]?s|[mh]))+$/.test(parts)) return parseDuration(written);
  const counts = Array.from(parts.matchAll(/([\d.]+)([a-z]+)/g));
  return counts.reduce(
    (sum, [, count, unit = '']) => sum + Number(count) * (GO_UNITS[unit] ?? 0),
    0,
  );
}

const RATE_LIMIT = section({
  interval: v.optional(intervalValue, 0),
  burst: v.optional(integer(0), 0),
});

const WEB_CONFIG = section({
  tls_server_config: v.nullish(TLS_SERVER, {}),
  http_server_config: v.nullish(HTTP_SERVER, {}),
  basic_auth_users: v.optional(users),
  rate_limit: v.nullish(RATE_LIMIT, {}),
});

/** The settings and faults of a web config file. */
export interface WebConfigReading {
  /** Not to be used where there are problems. */
  readonly config: WebConfig;
  /** The file and those that it names: when one changes, it is time to read again. */
  readonly files: readonly string[];
  readonly problems: readonly ConfigIssue[];
  readonly warnings: readonly ConfigIssue[];
}

/** Reads a web config file and what it names. Never rejects: what is wrong are problems. */
export async function readWebConfig(file: string | undefined): Promise<WebConfigReading> {
  const issues = new ConfigIssues();
  const { problems, warnings } = issues;
  if (file === undefined) return { config: NO_WEB_CONFIG, files: [], problems, warnings };
  const document = await readDocument(file, 'the web config file', issues, 'tls_server_config:');
  if (problems.length > 0) return { config: NO_WEB_CONFIG, files: [file], problems, warnings };
  const values = validate(WEB_CONFIG, document);
  if (values === undefined) return { config: NO_WEB_CONFIG, files: [file], problems, warnings };
  const { tls_server_config, basic_auth_users, rate_limit } = values;
  const { cert_file, key_file, client_ca_file } = tls_server_config;
  const named = [cert_file, key_file, client_ca_file].filter((each) => each !== undefined);
  const headers = Object.entries(values.http_server_config.headers);
  const { interval, burst } = rate_limit;
  if (interval > 0 && burst === 0) {
    document.reporterOf(['rate_limit']).warn('burst 0 rejects every request: set burst');
  }
  const slow = Object.entries(basic_auth_users ?? {}).filter(([, hash]) => isSlowHash(hash));
  for (const [name, hash] of slow) {
    const times = 2 ** (costOf(hash) - 10);
    const message = `a first login takes ${times} times as long as with cost 10, and a scrape may not wait for it: ${MAKE_HASH}`;
    document.reporterOf(['basic_auth_users']).warn(message, name);
  }
  const tlsKeys = Object.keys(document.input['tls_server_config'] ?? {});
  const isTls = asksForTls(tlsKeys);
  const tls = document.reporterOf(['tls_server_config']);
  if (!isTls && tlsKeys.length > 0) {
    tls.warn('without a certificate TLS stays off, and this has no effect: set cert_file');
  }
  const config = {
    tls: isTls ? await readServerTls(tls_server_config, tls) : undefined,
    // An empty header counts as not set, as in the toolkit.
    headers: Object.fromEntries(headers.filter(([, value]) => value !== '')),
    users: new Map(Object.entries(basic_auth_users ?? {})),
    rateLimit: interval === 0 ? undefined : { intervalSeconds: interval, burst },
  };
  return { config, files: [file, ...named], problems, warnings };
}

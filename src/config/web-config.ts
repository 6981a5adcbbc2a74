import * as v from 'valibot';
import { readDocument } from './document.ts';
import { type ConfigIssue, ConfigIssues, isContainer, isMap } from './issues.ts';
import { readServerTls, type ServerTls, TLS_SERVER } from './server-tls.ts';
import { validate } from './validate.ts';
import { boolean, duration, integer, section } from './values.ts';

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
/** Each step doubles the time of a comparison, and one is made at a time for all. */
const MAX_BCRYPT_COST = 15;
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
  const cost = typeof value === 'string' ? BCRYPT_HASH.exec(value)?.[1] : undefined;
  if (cost === undefined) return `the value is not a bcrypt hash: ${MAKE_HASH}`;
  if (Number(cost) <= MAX_BCRYPT_COST) return undefined;
  return `the value has bcrypt cost ${Number(cost)}; at most ${MAX_BCRYPT_COST} is accepted: ${MAKE_HASH}`;
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
  http2: v.optional(boolean, true),
  headers: v.optional(HEADERS, {}),
});
const RATE_LIMIT = section({
  interval: v.optional(duration(0), '0s'),
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
  const document = await readDocument(file, 'the web config file', issues);
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
  const isEmpty = Object.keys(document.input['tls_server_config'] ?? {}).length === 0;
  const tls = document.reporterOf(['tls_server_config']);
  const config = {
    // An empty map sets nothing, as in the toolkit.
    tls: isEmpty ? undefined : await readServerTls(tls_server_config, tls),
    // An empty header counts as not set, as in the toolkit.
    headers: Object.fromEntries(headers.filter(([, value]) => value !== '')),
    users: new Map(Object.entries(basic_auth_users ?? {})),
    rateLimit: interval === 0 ? undefined : { intervalSeconds: interval, burst },
  };
  return { config, files: [file, ...named], problems, warnings };
}

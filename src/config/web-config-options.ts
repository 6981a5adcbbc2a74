import { Refusal, listOf, scalarKind } from './kind.ts';
import type { Kind } from './kind.ts';
import { boolean, choice, filePath, integer, text } from './kinds.ts';
import type { Raw } from './raw.ts';
import type { Rows } from './section.ts';
import { CIPHER_SUITES, CURVES, TLS_VERSIONS } from './tls-names.ts';

// The keys of a web config file. They and their meanings are those of the Prometheus exporter toolkit, so that a file
// that was written for another exporter serves here too.

/** What a server asks of the certificate of a client. */
export interface ClientAuth {
  /** One is asked for. */
  readonly asks: boolean;
  /** A connection without one is refused. */
  readonly needs: boolean;
  /** One that is given must come from a known CA. */
  readonly verifies: boolean;
}

const REQUIRE_ANY: ClientAuth = { asks: true, needs: true, verifies: false };
const CLIENT_AUTH_TYPES = {
  NoClientCert: { asks: false, needs: false, verifies: false },
  RequestClientCert: { asks: true, needs: false, verifies: false },
  RequireAnyClientCert: REQUIRE_ANY,
  /** The older name. */
  RequireClientCert: REQUIRE_ANY,
  VerifyClientCertIfGiven: { asks: true, needs: false, verifies: true },
  RequireAndVerifyClientCert: { asks: true, needs: true, verifies: true },
} as const satisfies Readonly<Record<string, ClientAuth>>;

const SECONDS_PER_GO_UNIT: ReadonlyMap<string, number> = new Map([
  ['ns', 1e-9],
  ['us', 1e-6],
  ['µs', 1e-6],
  ['ms', 1e-3],
  ['s', 1],
  ['m', 60],
  ['h', 3600],
]);
const GO_DURATION_PART = /(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)/g;

/** Seconds; written as Go writes durations: `1m30s`, `1.5s`, `100ms`. */
const goDuration: Kind<number> = scalarKind({
  name: 'duration',
  standIn: 0,
  schema: { type: 'string' },
  accept({ value }) {
    const parts = [...String(value).matchAll(GO_DURATION_PART)];
    const isWhole = parts.map(([part]) => part).join('') === String(value) && parts.length > 0;
    if (String(value) === '0') return 0;
    if (!isWhole) {
      return new Refusal('is not a duration: write it with a unit, as 1s, 100ms or 1m30s');
    }
    return parts.reduce(
      (sum, [, count, unit = '']) => sum + Number(count) * (SECONDS_PER_GO_UNIT.get(unit) ?? 0),
      0,
    );
  },
});

/** PEM text. Its messages never show it, since a key may stand in the wrong place. */
const pem: Kind<string> = scalarKind({
  name: 'pem',
  standIn: '',
  schema: { type: 'string' },
  show: (raw: Raw) => (raw.form === 'scalar' ? 'the value' : `a ${raw.form}`),
  accept: ({ value }) =>
    typeof value === 'string' ? value : new Refusal('is not a text: write it as a block after |'),
});

const BCRYPT_HASH = /^\$2[aby]?\$(0[4-9]|[12]\d|3[01])\$[./A-Za-z\d]{53}$/;
/** Each step doubles the time of a comparison, and one is made at a time for all. */
const MAX_BCRYPT_COST = 15;
/** Above it guesses hold up good logins noticeably. */
const MAX_QUICK_BCRYPT_COST = 12;
const SECONDS_AT_COST_10 = 0.1;
const MAKE_HASH = 'make one with `htpasswd -nBC 10 ""` and remove the colon';

/** What is wrong with the cost of a hash that can be used; undefined when nothing is. */
export function findSlowHash(hash: string): string | undefined {
  const cost = costOf(hash);
  if (cost <= MAX_QUICK_BCRYPT_COST) return undefined;
  const seconds = SECONDS_AT_COST_10 * 2 ** (cost - 10);
  return `bcrypt cost ${cost}: about ${seconds.toFixed(1)} s of CPU time for each new login, one at a time: ${MAKE_HASH}`;
}

function costOf(hash: string): number {
  return Number(BCRYPT_HASH.exec(hash)?.[1] ?? 0);
}

/** The hash of a password. Its messages never show it: somebody may have written the password. */
export const bcryptHash: Kind<string> = scalarKind({
  name: 'hash',
  standIn: '',
  schema: { type: 'string' },
  show: () => 'the value',
  accept({ value }) {
    if (typeof value !== 'string' || !BCRYPT_HASH.test(value)) {
      return new Refusal(`is not a bcrypt hash: ${MAKE_HASH}`);
    }
    const cost = costOf(value);
    return cost <= MAX_BCRYPT_COST
      ? value
      : new Refusal(
          `has bcrypt cost ${cost}; at most ${MAX_BCRYPT_COST} is accepted: ${MAKE_HASH}`,
        );
  },
});

/** Words that stand for something. */
function wordFor<T>(meanings: Readonly<Record<string, T>>, standIn: T): Kind<T> {
  const [first = '', ...others] = Object.keys(meanings);
  const words = choice(first, ...others);
  return {
    name: words.name,
    standIn,
    schema: words.schema,
    write: (value) => Object.keys(meanings).find((word) => meanings[word] === value),
    parse: (raw, findings) => meanings[words.parse(raw, findings)] ?? standIn,
  };
}

const tlsVersion = wordFor(TLS_VERSIONS, TLS_VERSIONS.TLS12);

export const TLS_SERVER = {
  certFile: { path: 'cert_file', kind: filePath, help: 'Certificate, with its chain.' },
  cert: { path: 'cert', kind: pem, help: 'The certificate itself.' },
  keyFile: { path: 'key_file', kind: filePath, help: 'Private key.' },
  key: { path: 'key', kind: pem, help: 'The private key itself.' },
  clientCaFile: { path: 'client_ca_file', kind: filePath, help: 'CAs of clients.' },
  clientCa: { path: 'client_ca', kind: pem, help: 'The CAs themselves.' },
  clientAuthType: {
    path: 'client_auth_type',
    kind: wordFor<ClientAuth>(CLIENT_AUTH_TYPES, CLIENT_AUTH_TYPES.NoClientCert),
    default: CLIENT_AUTH_TYPES.NoClientCert,
    help: 'Which certificate a client must have.',
  },
  clientAllowedSans: {
    path: 'client_allowed_sans',
    kind: listOf(text(), { mayBeEmpty: true }),
    default: [],
    help: 'A certificate of a client must have one of these names.',
  },
  minVersion: {
    path: 'min_version',
    kind: tlsVersion,
    default: TLS_VERSIONS.TLS12,
    help: 'Oldest version of TLS.',
  },
  maxVersion: {
    path: 'max_version',
    kind: tlsVersion,
    default: TLS_VERSIONS.TLS13,
    help: 'Newest version of TLS.',
  },
  cipherSuites: {
    path: 'cipher_suites',
    kind: listOf(wordFor(CIPHER_SUITES, undefined), { mayBeEmpty: true }),
    default: [],
    help: 'Suites of TLS 1.2 and before.',
  },
  preferServerCipherSuites: {
    path: 'prefer_server_cipher_suites',
    kind: boolean,
    default: true,
    help: 'The order of the server decides.',
  },
  curvePreferences: {
    path: 'curve_preferences',
    kind: listOf(wordFor(CURVES, CURVES.X25519), { mayBeEmpty: true }),
    default: [],
    help: 'Curves, the best first.',
  },
} satisfies Rows;

export const HTTP_SERVER = {
  http2: { path: 'http2', kind: boolean, default: true, help: 'Accepted; HTTP/1.1 is served.' },
} satisfies Rows;

export const RATE_LIMIT = {
  interval: { path: 'interval', kind: goDuration, default: 0, help: 'Time for one request.' },
  burst: { path: 'burst', kind: integer({ min: 0 }), default: 0, help: 'Requests at once.' },
} satisfies Rows;

import { validateHeaderValue } from 'node:http';
import path from 'node:path';
import { readDocument } from './document.ts';
import { warnOfOtherUsers } from './file-mode.ts';
import { createFindings } from './findings.ts';
import type { Findings, Problem } from './findings.ts';
import type { Raw, RawMap } from './raw.ts';
import { explainFileError } from './secret.ts';
import { readSmallText } from './small-file.ts';
import { isSet, keyOf, memberOf, openSection, placeOf, read } from './section.ts';
import type { Rows, Section } from './section.ts';
import { readServerTls } from './server-tls.ts';
import { NO_WEB_CONFIG, type RateLimit, type WebConfig } from './web-config.ts';
import {
  bcryptHash,
  findSlowHash,
  HTTP_SERVER,
  RATE_LIMIT,
  TLS_SERVER,
} from './web-config-options.ts';

/** What came of reading a web config file. */
export interface WebConfigReading {
  /** Not to be used when there are problems. */
  readonly config: WebConfig;
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
  /** The file and those that it names: when one changes, it is time to read again. */
  readonly files: readonly string[];
}

const KEYS = ['tls_server_config', 'http_server_config', 'basic_auth_users', 'rate_limit'];

/** The headers that may be set, with their values where only some make sense. */
const HEADERS: ReadonlyMap<string, readonly string[] | undefined> = new Map([
  ['Strict-Transport-Security', undefined],
  ['X-Content-Type-Options', ['nosniff']],
  ['X-Frame-Options', ['deny', 'sameorigin']],
  ['X-XSS-Protection', undefined],
  ['Content-Security-Policy', undefined],
]);

const LIST_USERS = 'write each as `name: hash`';

/** Reads a web config file and what it names. Never rejects: what is wrong are problems. */
export async function readWebConfig(file: string): Promise<WebConfigReading> {
  const findings = createFindings();
  const folder = path.dirname(path.resolve(file));
  const text = await readSmallText(file).catch((error: unknown) => {
    const message = `cannot read the web config file: ${explainFileError(error)}`;
    findings.report({ source: file, path: '', folder }, message);
    return '';
  });
  const document = readDocument(text, { name: file, folder }, findings);
  if (findings.problems.length > 0) return { config: NO_WEB_CONFIG, files: [file], ...findings };
  const root = openFilled(document, KEYS, findings);
  const tls = openFilled(memberOf(root, 'tls_server_config'), keysOf(TLS_SERVER), findings);
  const config: WebConfig = {
    tls: await readServerTls(tls),
    headers: readHttpServer(root),
    users: readUsers(document, findings),
    rateLimit: readRateLimit(root),
  };
  const place = { source: file, path: '', folder };
  const isReadable = !tls.entries.has('key');
  await warnOfOtherUsers({ path: file, what: 'the web config file', isReadable }, place, findings);
  const { problems, warnings } = findings;
  return { config, files: [file, ...filesOf(tls)], problems, warnings };
}

/** A key without a value, or with an empty one, counts as not set: so it does in the toolkit. */
function openFilled(raw: Raw, known: readonly string[], findings: Findings): Section {
  const section = openSection(raw, known, findings);
  const filled = [...section.entries].filter(([, { value }]) => !isNothing(value));
  return { ...section, entries: new Map(filled) };
}

function isNothing(raw: Raw): boolean {
  return raw.form === 'scalar' && (raw.value === null || raw.value === '');
}

function keysOf(rows: Rows): readonly string[] {
  return Object.values(rows).map((row) => keyOf(row));
}

function filesOf(tls: Section): readonly string[] {
  const quiet = { ...tls, findings: createFindings() };
  const rows = [TLS_SERVER.certFile, TLS_SERVER.keyFile, TLS_SERVER.clientCaFile];
  return rows.flatMap((row) => read(quiet, row) || []);
}

function readHttpServer(root: Section): Readonly<Record<string, string>> {
  const { findings } = root;
  const keys = [...keysOf(HTTP_SERVER), 'headers'];
  const section = openFilled(memberOf(root, 'http_server_config'), keys, findings);
  if (isSet(section, HTTP_SERVER.http2) && read(section, HTTP_SERVER.http2)) {
    findings.warn(placeOf(section, HTTP_SERVER.http2), 'has no effect: HTTP/1.1 is served');
  }
  const headers = openFilled(memberOf(section, 'headers'), [...HEADERS.keys()], findings);
  const read1 = [...headers.entries].map(([name, { value }]) => [
    name,
    readHeader(name, value, findings),
  ]);
  return Object.fromEntries(read1);
}

function readHeader(name: string, raw: Raw, findings: Findings): string {
  const value = raw.form === 'scalar' ? String(raw.value) : '';
  const allowed = HEADERS.get(name);
  if (raw.form !== 'scalar' || !isHeaderValue(name, value)) {
    findings.report(raw.place, 'is not the value of a header: write one line of text');
  } else if (allowed !== undefined && !allowed.includes(value.toLowerCase())) {
    findings.report(raw.place, `is not a value of this header: write ${allowed.join(' or ')}`);
  }
  return value;
}

function isHeaderValue(name: string, value: string): boolean {
  try {
    validateHeaderValue(name, value);
    return true;
  } catch {
    // The reason is always a character that no header may have.
    return false;
  }
}

/** A key without users, which may be the last line of a file that was cut off, must not let everybody in. */
function readUsers({ entries }: RawMap, findings: Findings): ReadonlyMap<string, string> {
  const entry = entries.get('basic_auth_users');
  if (entry === undefined) return new Map();
  const { key, value } = entry;
  const isEmpty = value.form === 'map' ? value.entries.size === 0 : isNothing(value);
  if (isEmpty) findings.report(key, `lists no users: ${LIST_USERS}, or remove the key`);
  else if (value.form !== 'map')
    findings.report(value.place, `is not a map of users: ${LIST_USERS}`);
  return value.form === 'map' ? readHashes(value, findings) : new Map();
}

/** Never shown in messages, whatever stands there: it may be a password. */
function readHashes(users: RawMap, findings: Findings): ReadonlyMap<string, string> {
  const hashes = new Map<string, string>();
  for (const [name, { key, value }] of users.entries) {
    if (name.includes(':')) findings.report(key, 'a name with a colon cannot log in: remove it');
    const hash = bcryptHash.parse(value, findings);
    const slow = findSlowHash(hash);
    if (slow !== undefined) findings.warn(value.place, slow);
    hashes.set(name, hash);
  }
  return hashes;
}

function readRateLimit(root: Section): RateLimit | undefined {
  const raw = memberOf(root, 'rate_limit');
  const section = openFilled(raw, keysOf(RATE_LIMIT), root.findings);
  const limit = {
    intervalSeconds: read(section, RATE_LIMIT.interval),
    burst: read(section, RATE_LIMIT.burst),
  };
  if (limit.intervalSeconds === 0) return undefined;
  if (limit.burst === 0) {
    root.findings.warn(section.place, 'with burst 0 no request is answered: set burst');
  }
  return limit;
}

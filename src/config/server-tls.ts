import { constants } from 'node:crypto';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import * as v from 'valibot';
import { warnOfSecretFile } from './files.ts';
import { messageOf } from './issues.ts';
import { CIPHER_SUITES, CLIENT_AUTH_TYPES, CURVES, TLS_VERSIONS } from './tls-names.ts';
import type { ClientAuth, TlsVersion } from './tls-names.ts';
import { checkCas, checkIdentity, type Identity, type Pem, readPem } from './tls-files.ts';
import type { Section } from './validate.ts';
import { boolean, choice, filePath, list, refuseType, section, text } from './values.ts';

/** PEM text. Its messages never show it, since a key may stand in the wrong place. */
const pem = v.string(refuseType('is not a text: write it as a block after |', () => 'the value'));

/** The keys of `tls_server_config`, as the Prometheus exporter toolkit defines them. */
export function tlsServerSection(folder: string) {
  const version = meaningOf(TLS_VERSIONS);
  return section({
    cert_file: v.optional(filePath(folder)),
    cert: v.optional(pem),
    key_file: v.optional(filePath(folder)),
    key: v.optional(pem),
    client_ca_file: v.optional(filePath(folder)),
    client_ca: v.optional(pem),
    client_auth_type: v.optional(choice(wordsOf(CLIENT_AUTH_TYPES)), 'NoClientCert'),
    client_allowed_sans: v.optional(list(text()), []),
    min_version: v.optional(version, 'TLS12'),
    max_version: v.optional(version, 'TLS13'),
    cipher_suites: v.optional(list(meaningOf(CIPHER_SUITES)), []),
    prefer_server_cipher_suites: v.optional(boolean, true),
    curve_preferences: v.optional(list(meaningOf(CURVES)), []),
  });
}

export type TlsServerConfig = v.InferOutput<ReturnType<typeof tlsServerSection>>;

function wordsOf<T extends object>(meanings: T): (keyof T & string)[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a literal has no other keys than its type
  return Object.keys(meanings) as (keyof T & string)[];
}

/** A word that stands for what OpenSSL calls otherwise. */
function meaningOf<T extends object>(meanings: T) {
  return v.pipe(
    choice(wordsOf(meanings)),
    v.transform((word) => meanings[word]),
  );
}

/** How the exporter speaks TLS to its scrapers, in OpenSSL's words. */
export interface ServerTls extends Identity {
  readonly clientAuth: ClientAuth;
  /** PEM; the usual CAs when absent. */
  readonly clientCas?: string | undefined;
  /** Names of which a client's certificate must have one; any will do when empty. */
  readonly allowedSans: readonly string[];
  readonly minVersion: TlsVersion;
  readonly maxVersion: TlsVersion;
  /** Of TLS 1.2 and before; the usual ones when undefined. */
  readonly cipherSuites: readonly string[] | undefined;
  readonly prefersServerCiphers: boolean;
  /** The usual ones when empty. */
  readonly curves: readonly string[];
}

/** What OpenSSL needs to be told for versions that it takes for broken. */
const ALLOW_OLD_VERSIONS = '@SECLEVEL=0';
const DEFAULT_OLD_SUITES = `DEFAULT:${ALLOW_OLD_VERSIONS}`;

/** The settings of a secure context. */
export function secureContextOptions(tls: ServerTls): SecureContextOptions {
  return {
    cert: tls.certificates,
    key: tls.key.export({ type: 'pkcs8', format: 'pem' }),
    minVersion: hasNoOldSuite(tls) ? 'TLSv1.3' : tls.minVersion,
    maxVersion: tls.maxVersion,
    honorCipherOrder: tls.prefersServerCiphers,
    ...(tls.clientCas !== undefined && { ca: tls.clientCas }),
    ...(tls.curves.length > 0 && { ecdhCurve: tls.curves.join(':') }),
    ...describeCiphers(tls),
    // A resumed session would not show its certificate again, although the CAs may have changed.
    ...(tls.clientAuth.asks && { secureOptions: constants.SSL_OP_NO_TICKET }),
  };
}

/** Suites of TLS 1.3 alone were named: they cannot be chosen, but nothing is left for what is older. */
function hasNoOldSuite({ cipherSuites }: Pick<ServerTls, 'cipherSuites'>): boolean {
  return cipherSuites !== undefined && cipherSuites.length === 0;
}

function describeCiphers({ cipherSuites, minVersion }: ServerTls): { ciphers?: string } {
  const isOld = minVersion === 'TLSv1' || minVersion === 'TLSv1.1';
  if (cipherSuites === undefined || cipherSuites.length === 0)
    return isOld ? { ciphers: DEFAULT_OLD_SUITES } : {};
  return { ciphers: [...cipherSuites, ...(isOld ? [ALLOW_OLD_VERSIONS] : [])].join(':') };
}

/** Reads `tls_server_config`; undefined when it is empty or cannot be used, which is reported. */
export async function readServerTls(
  config: Section<TlsServerConfig>,
): Promise<ServerTls | undefined> {
  if (config.isEmpty) return undefined;
  const identity = await readIdentity(config);
  const { cipher_suites = [], curve_preferences = [] } = config.values;
  const shared = {
    ...(await readClientAuth(config)),
    ...readVersions(config),
    cipherSuites: cipher_suites.length === 0 ? undefined : cipher_suites.filter(isDefined),
    prefersServerCiphers: config.values.prefer_server_cipher_suites ?? true,
    curves: curve_preferences.filter(isDefined),
  };
  if (identity === undefined) return undefined;
  if (hasNoOldSuite(shared) && shared.maxVersion < 'TLSv1.3') {
    config.report('cipher_suites', 'no suite for max_version: name one of TLS 1.2');
  }
  const tls: ServerTls = { ...identity, ...shared };
  tryOut(tls, config);
  return tls;
}

function isDefined<T>(value: T | undefined): value is T {
  return value !== undefined;
}

async function readIdentity(config: Section<TlsServerConfig>): Promise<Identity | undefined> {
  const { issues, place, values } = config;
  const certificates = await readPem(config, 'cert');
  const key = await readPem(config, 'key');
  if (!config.has('cert') && !config.has('cert_file')) {
    issues.report(place, 'a certificate is missing: set cert_file or cert');
  }
  if (!config.has('key') && !config.has('key_file')) {
    issues.report(place, 'a private key is missing: set key_file or key');
  }
  if (key && values.key_file) await warnOfSecretFile(values.key_file, key.place, issues);
  return certificates && key && checkIdentity({ certificates, key }, issues);
}

async function readClientAuth(
  config: Section<TlsServerConfig>,
): Promise<Pick<ServerTls, 'clientAuth' | 'clientCas' | 'allowedSans'>> {
  const { client_auth_type: type = 'NoClientCert' } = config.values;
  const allowedSans = config.values.client_allowed_sans?.filter(isDefined) ?? [];
  const clientAuth: ClientAuth = CLIENT_AUTH_TYPES[type];
  const cas = await readPem(config, 'client_ca');
  const clientCas = cas && checkCas(cas, config.issues);
  checkClientAuth(config, { clientAuth, cas, allowedSans });
  return { clientAuth, clientCas, allowedSans };
}

function checkClientAuth(
  config: Section<TlsServerConfig>,
  {
    clientAuth,
    cas,
    allowedSans,
  }: Pick<ServerTls, 'clientAuth' | 'allowedSans'> & { readonly cas: Pem | undefined },
): void {
  const remedy = 'set client_auth_type to RequireAndVerifyClientCert';
  const notAsked = `but clients are not asked for a certificate: ${remedy}`;
  if (cas !== undefined && !clientAuth.asks) {
    config.issues.report(cas.place, `a client CA, ${notAsked}`);
  }
  if (allowedSans.length > 0 && !clientAuth.asks) {
    config.report('client_allowed_sans', `names, ${notAsked}`);
  } else if (allowedSans.length > 0 && !clientAuth.verifies) {
    const message = `certificates are not verified, so anybody can have any name: ${remedy}`;
    config.warn('client_allowed_sans', message);
  }
  if (clientAuth.verifies && cas === undefined) {
    const message = 'without client_ca_file every certificate of a public CA is let in: set it';
    config.warn('client_auth_type', message);
  }
}

function readVersions(
  config: Section<TlsServerConfig>,
): Pick<ServerTls, 'minVersion' | 'maxVersion'> {
  const { min_version: minVersion = 'TLSv1.2', max_version: maxVersion = 'TLSv1.3' } =
    config.values;
  if (minVersion > maxVersion) {
    config.report('min_version', 'min_version is above max_version: no version is left');
  } else if (minVersion < 'TLSv1.2') {
    config.warn('min_version', 'TLS before 1.2 can be broken: set TLS12');
  }
  return { minVersion, maxVersion };
}

/** OpenSSL reports what is left to find out. */
function tryOut(tls: ServerTls, { issues, place }: Section<TlsServerConfig>): void {
  try {
    createSecureContext(secureContextOptions(tls));
  } catch (error) {
    issues.report(place, `these settings make no TLS server: ${messageOf(error)}`);
  }
}

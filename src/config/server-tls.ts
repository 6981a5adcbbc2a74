import { constants } from 'node:crypto';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { warnOfSecretFile } from './credentials.ts';
import { checkCas, checkIdentity, type Identity } from './identity.ts';
import { type Pem, readPem } from './pem.ts';
import { placeOf, read } from './section.ts';
import type { Section } from './section.ts';
import type { TlsVersion } from './tls-names.ts';
import { type ClientAuth, TLS_SERVER } from './web-config-options.ts';

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

/** Reads `tls_server_config`; undefined when it says nothing or cannot be used, which is reported. */
export async function readServerTls(section: Section): Promise<ServerTls | undefined> {
  if (section.entries.size === 0) return undefined;
  const identity = readIdentity(section, {
    certificates: await readPem(section, { file: TLS_SERVER.certFile, text: TLS_SERVER.cert }),
    key: await readKey(section),
  });
  const suites = read(section, TLS_SERVER.cipherSuites);
  const shared = {
    ...(await readClientAuth(section)),
    ...readVersions(section),
    cipherSuites: suites.length === 0 ? undefined : suites.filter((suite) => suite !== undefined),
    prefersServerCiphers: read(section, TLS_SERVER.preferServerCipherSuites),
    curves: read(section, TLS_SERVER.curvePreferences),
  };
  if (identity === undefined) return undefined;
  if (hasNoOldSuite(shared) && shared.maxVersion < 'TLSv1.3') {
    const place = placeOf(section, TLS_SERVER.cipherSuites);
    section.findings.report(place, 'no suite for max_version: name one of TLS 1.2');
  }
  const tls: ServerTls = { ...identity, ...shared };
  tryOut(tls, section);
  return tls;
}

function readIdentity(
  section: Section,
  { certificates, key }: { readonly certificates: Pem | undefined; readonly key: Pem | undefined },
): Identity | undefined {
  const { findings } = section;
  if (certificates === undefined && !isNamed(section, 'cert')) {
    findings.report(section.place, 'a certificate is missing: set cert_file or cert');
  }
  if (key === undefined && !isNamed(section, 'key')) {
    findings.report(section.place, 'a private key is missing: set key_file or key');
  }
  return certificates && key && checkIdentity(section, { certificates, key });
}

/** Whether a certificate or key is named, even if it could not be read: that was reported already. */
function isNamed({ entries }: Section, key: 'cert' | 'key'): boolean {
  return entries.has(key) || entries.has(`${key}_file`);
}

async function readKey(section: Section): Promise<Pem | undefined> {
  const key = await readPem(section, { file: TLS_SERVER.keyFile, text: TLS_SERVER.key });
  const file = read(section, TLS_SERVER.keyFile);
  if (key !== undefined && file) await warnOfSecretFile(file, key.place, section.findings);
  return key;
}

async function readClientAuth(
  section: Section,
): Promise<Pick<ServerTls, 'clientAuth' | 'clientCas' | 'allowedSans'>> {
  const { findings } = section;
  const clientAuth = read(section, TLS_SERVER.clientAuthType);
  const allowedSans = read(section, TLS_SERVER.clientAllowedSans);
  const cas = await readPem(section, { file: TLS_SERVER.clientCaFile, text: TLS_SERVER.clientCa });
  const clientCas = cas && checkCas(section, cas);
  const remedy = 'set client_auth_type to RequireAndVerifyClientCert';
  if (cas !== undefined && !clientAuth.asks) {
    findings.report(
      cas.place,
      `a client CA, but clients are not asked for a certificate: ${remedy}`,
    );
  }
  if (allowedSans.length > 0 && !clientAuth.verifies) {
    const place = placeOf(section, TLS_SERVER.clientAllowedSans);
    if (clientAuth.asks) {
      findings.warn(
        place,
        `certificates are not verified, so anybody can have any name: ${remedy}`,
      );
    } else {
      findings.report(place, `names, but clients are not asked for a certificate: ${remedy}`);
    }
  }
  if (clientAuth.verifies && cas === undefined) {
    const place = placeOf(section, TLS_SERVER.clientAuthType);
    findings.warn(
      place,
      'without client_ca_file every certificate of a public CA is let in: set it',
    );
  }
  return { clientAuth, clientCas, allowedSans };
}

function readVersions(section: Section): Pick<ServerTls, 'minVersion' | 'maxVersion'> {
  const minVersion = read(section, TLS_SERVER.minVersion);
  const maxVersion = read(section, TLS_SERVER.maxVersion);
  const place = placeOf(section, TLS_SERVER.minVersion);
  if (minVersion > maxVersion) {
    section.findings.report(place, 'min_version is above max_version: no version is left');
  } else if (minVersion < 'TLSv1.2') {
    section.findings.warn(place, 'TLS before 1.2 can be broken: set TLS12');
  }
  return { minVersion, maxVersion };
}

/** What is left to find out, OpenSSL says. */
function tryOut(tls: ServerTls, section: Section): void {
  try {
    createSecureContext(secureContextOptions(tls));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    section.findings.report(section.place, `these settings make no TLS server: ${reason}`);
  }
}

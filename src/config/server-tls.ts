import { constants } from 'node:crypto';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import * as v from 'valibot';
import { messageOf } from '../format.ts';
import { readCas, readIdentity } from './tls-files.ts';
import type { Section } from './validate.ts';
import { boolean, choice, filePath, list, invalid, section, text } from './values.ts';

// Names that Go's crypto/tls gives to what OpenSSL calls otherwise; web config files are written in Go's.

const TLS_VERSIONS = {
  TLS10: 'TLSv1',
  TLS11: 'TLSv1.1',
  TLS12: 'TLSv1.2',
  TLS13: 'TLSv1.3',
} as const;

const CURVES = {
  CurveP256: 'prime256v1',
  CurveP384: 'secp384r1',
  CurveP521: 'secp521r1',
  X25519: 'X25519',
} as const;

/** The suites that Go calls secure. Those of TLS 1.3 cannot be chosen, there as here. */
const CIPHER_SUITES = {
  TLS_AES_128_GCM_SHA256: undefined,
  TLS_AES_256_GCM_SHA384: undefined,
  TLS_CHACHA20_POLY1305_SHA256: undefined,
  TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256: 'ECDHE-ECDSA-AES128-GCM-SHA256',
  TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384: 'ECDHE-ECDSA-AES256-GCM-SHA384',
  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256: 'ECDHE-ECDSA-CHACHA20-POLY1305',
  TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA: 'ECDHE-ECDSA-AES128-SHA',
  TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA: 'ECDHE-ECDSA-AES256-SHA',
  TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256: 'ECDHE-RSA-AES128-GCM-SHA256',
  TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384: 'ECDHE-RSA-AES256-GCM-SHA384',
  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256: 'ECDHE-RSA-CHACHA20-POLY1305',
  TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA: 'ECDHE-RSA-AES128-SHA',
  TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA: 'ECDHE-RSA-AES256-SHA',
} as const;

/** The rules for the certificate of a client. */
interface ClientAuth {
  readonly requested: boolean;
  /** A connection without one is refused. */
  readonly required: boolean;
  /** One that is sent must come from a known CA. */
  readonly verified: boolean;
}

const REQUIRE_ANY: ClientAuth = { requested: true, required: true, verified: false };
const CLIENT_AUTH_TYPES = {
  NoClientCert: { requested: false, required: false, verified: false },
  RequestClientCert: { requested: true, required: false, verified: false },
  RequireAnyClientCert: REQUIRE_ANY,
  /** The older name. */
  RequireClientCert: REQUIRE_ANY,
  VerifyClientCertIfGiven: { requested: true, required: false, verified: true },
  RequireAndVerifyClientCert: { requested: true, required: true, verified: true },
} as const satisfies Readonly<Record<string, ClientAuth>>;

/** PEM text. Its messages never show it, since it may be a private key. */
const pem = v.string(invalid('is not text: write it as a block after |', 'the value'));

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
    client_auth_type: v.optional(meaningOf(CLIENT_AUTH_TYPES), 'NoClientCert'),
    client_allowed_sans: v.optional(list(text()), []),
    min_version: v.optional(version, 'TLS12'),
    max_version: v.optional(version, 'TLS13'),
    cipher_suites: v.optional(list(meaningOf(CIPHER_SUITES)), []),
    prefer_server_cipher_suites: v.optional(boolean, true),
    curve_preferences: v.optional(list(meaningOf(CURVES)), []),
  });
}

type TlsServerConfig = v.InferOutput<ReturnType<typeof tlsServerSection>>;

/** One of the words of Go, and what it means here. */
function meaningOf<T extends object>(meanings: T) {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a literal has no other keys than its type
  const words = Object.keys(meanings) as (keyof T & string)[];
  return v.pipe(
    choice(words),
    v.transform((word) => meanings[word]),
  );
}

/** How the exporter serves TLS. */
export interface ServerTls {
  /** A function, since it contains the private key, which must not be printed with the rest. */
  readonly context: () => SecureContextOptions;
  /** When the first of the certificates expires, ms since the epoch. */
  readonly notAfterMs: number;
  readonly clientAuth: ClientAuth;
  /** PEM; the usual CAs when absent. */
  readonly clientCas: string | undefined;
  /** Names of which a client's certificate must have one; any will do when empty. */
  readonly allowedSans: readonly string[];
}

/** Reads `tls_server_config`; undefined when it is empty or cannot be used, which is reported. */
export async function readServerTls(
  config: Section<TlsServerConfig>,
): Promise<ServerTls | undefined> {
  if (config.isEmpty) return undefined;
  if (!config.has('cert') && !config.has('cert_file')) {
    config.report('a certificate is missing: set cert_file or cert');
  }
  if (!config.has('key') && !config.has('key_file')) {
    config.report('a private key is missing: set key_file or key');
  }
  const identity = await readIdentity(config);
  const client = await readClientAuth(config);
  const protocol = readProtocol(config);
  if (identity === undefined) return undefined;
  const context = (): SecureContextOptions => ({
    cert: identity.certificates,
    key: identity.key.export({ type: 'pkcs8', format: 'pem' }),
    ...(client.clientCas !== undefined && { ca: client.clientCas }),
    // A resumed session would not show its certificate again, although the CAs may have changed.
    ...(client.clientAuth.requested && { secureOptions: constants.SSL_OP_NO_TICKET }),
    ...protocol,
  });
  try {
    createSecureContext(context());
  } catch (error) {
    config.report(`OpenSSL rejects these settings: ${messageOf(error)}`);
  }
  return { context, notAfterMs: identity.notAfterMs, ...client };
}

async function readClientAuth(config: Section<TlsServerConfig>) {
  const { values } = config;
  const clientAuth: ClientAuth = values.client_auth_type ?? CLIENT_AUTH_TYPES.NoClientCert;
  const allowedSans = values.client_allowed_sans?.filter((each) => each !== undefined) ?? [];
  const clientCas = await readCas(config, 'client_ca');
  const caKey = (['client_ca_file', 'client_ca'] as const).find((key) => values[key] !== undefined);
  const remedy = 'set client_auth_type to RequireAndVerifyClientCert';
  const notRequested = `but no client certificate is requested: ${remedy}`;
  if (caKey !== undefined && !clientAuth.requested) {
    config.report(`a client CA, ${notRequested}`, caKey);
  }
  if (allowedSans.length > 0 && !clientAuth.requested) {
    config.report(`names, ${notRequested}`, 'client_allowed_sans');
  } else if (allowedSans.length > 0 && !clientAuth.verified) {
    const message = `certificates are not verified, so a client can claim any name: ${remedy}`;
    config.warn(message, 'client_allowed_sans');
  }
  if (caKey === undefined && clientAuth.verified) {
    const message = 'without client_ca_file, certificates of every public CA are accepted: set it';
    config.warn(message, 'client_auth_type');
  }
  return { clientAuth, clientCas, allowedSans };
}

/** Versions, suites and curves in OpenSSL's words. */
function readProtocol(config: Section<TlsServerConfig>): SecureContextOptions {
  const { values } = config;
  const { min_version: minVersion = 'TLSv1.2', max_version: maxVersion = 'TLSv1.3' } = values;
  const { cipher_suites = [], curve_preferences = [] } = values;
  const isOld = minVersion < 'TLSv1.2';
  if (minVersion > maxVersion) {
    config.report('min_version is above max_version: no version is left', 'min_version');
  } else if (isOld) {
    config.warn('TLS before 1.2 can be broken: set TLS12', 'min_version');
  }
  const suites = cipher_suites.filter((each) => each !== undefined);
  // The suites of TLS 1.3 cannot be chosen. When only they are named, nothing is left for older versions.
  const isNewest = suites.length === 0 && cipher_suites.length > 0;
  if (isNewest && maxVersion < 'TLSv1.3') {
    config.report('no suite for max_version: name one of TLS 1.2', 'cipher_suites');
  }
  const curves = curve_preferences.filter((each) => each !== undefined).join(':');
  // OpenSSL allows old versions only at its lowest security level.
  const ciphers = [suites.length === 0 ? 'DEFAULT' : suites, isOld ? '@SECLEVEL=0' : []].flat();
  return {
    minVersion: isNewest ? 'TLSv1.3' : minVersion,
    maxVersion,
    honorCipherOrder: values.prefer_server_cipher_suites ?? true,
    ...(curves !== '' && { ecdhCurve: curves }),
    ...((isOld || suites.length > 0) && { ciphers: ciphers.join(':') }),
  };
}

import type { SecureContextOptions } from 'node:tls';
import * as v from 'valibot';
import { messageOf } from '#base';
import type { Reporter } from './document.ts';
import { readCas, readIdentity } from './tls-files.ts';
import {
  anyText,
  choice,
  invalid,
  list,
  oldBoolean,
  optionalFilePath,
  section,
  text,
} from './values.ts';

// Names that Go's crypto/tls gives to what OpenSSL calls otherwise; web config files are written in Go's.

/** Older versions are not served. */
const MIN_VERSIONS = {
  TLS10: 'TLSv1.2',
  TLS11: 'TLSv1.2',
  TLS12: 'TLSv1.2',
  TLS13: 'TLSv1.3',
} as const;
const MAX_VERSIONS = { TLS12: 'TLSv1.2', TLS13: 'TLSv1.3' } as const;
const CURVES = { CurveP256: 'P-256', CurveP384: 'P-384', CurveP521: 'P-521', X25519: 'X25519' };

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

const CLIENT_AUTH_TYPES = {
  NoClientCert: { requested: false, required: false, verified: false },
  RequestClientCert: { requested: true, required: false, verified: false },
  RequireAnyClientCert: { requested: true, required: true, verified: false },
  /** The older name. */
  RequireClientCert: { requested: true, required: true, verified: false },
  VerifyClientCertIfGiven: { requested: true, required: false, verified: true },
  RequireAndVerifyClientCert: { requested: true, required: true, verified: true },
} as const satisfies Readonly<Record<string, ClientAuth>>;

/** One of the words of Go, and what it means here. */
function meaningOf<T>(meanings: Readonly<Record<string, T>>) {
  return v.pipe(
    choice(Object.keys(meanings)),
    v.transform((word) => meanings[word]),
  );
}

/** An empty text counts as not set, as in the toolkit. */
const clientAuthType = v.pipe(
  anyText,
  v.transform((word) => (word === '' ? 'NoClientCert' : word)),
  meaningOf(CLIENT_AUTH_TYPES),
);

/** PEM text; empty counts as not set. Its messages never show it, since it may be a private key. */
const pem = v.pipe(
  v.string(invalid('is not text: write it as a block after |', 'the value')),
  v.transform((value) => (value === '' ? undefined : value)),
);

/** The keys of `tls_server_config`, as the Prometheus exporter toolkit defines them. */
export const TLS_SERVER = section({
  cert_file: v.optional(optionalFilePath),
  cert: v.optional(pem),
  key_file: v.optional(optionalFilePath),
  key: v.optional(pem),
  client_ca_file: v.optional(optionalFilePath),
  client_ca: v.optional(pem),
  client_auth_type: v.optional(clientAuthType, 'NoClientCert'),
  client_allowed_sans: v.optional(list(text()), []),
  min_version: v.optional(meaningOf(MIN_VERSIONS), 'TLS12'),
  max_version: v.optional(meaningOf(MAX_VERSIONS), 'TLS13'),
  cipher_suites: v.optional(list(meaningOf(CIPHER_SUITES)), []),
  prefer_server_cipher_suites: v.optional(oldBoolean, true),
  curve_preferences: v.optional(list(meaningOf(CURVES)), []),
});

/** Settings that ask for nothing by themselves: without a certificate TLS stays off, as in the toolkit. */
const PROTOCOL_KEYS: ReadonlySet<string> = new Set([
  'min_version',
  'max_version',
  'cipher_suites',
  'prefer_server_cipher_suites',
  'curve_preferences',
]);

/** Whether the section turns TLS on, by the keys that are written in it. */
export function asksForTls(keys: readonly string[]): boolean {
  return keys.some((key) => !PROTOCOL_KEYS.has(key));
}

type TlsServerConfig = v.InferOutput<typeof TLS_SERVER>;

/** How the exporter serves TLS. */
export interface ServerTls {
  /** A function, since it contains the private key, which must not be printed with the rest. */
  readonly context: () => SecureContextOptions;
  /** When the first of the certificates expires, ms since the epoch. */
  readonly notAfterMs: number;
  readonly clientAuth: ClientAuth;
  /** PEM; the usual CAs when absent. */
  readonly clientCas: string | undefined;
  /** A client's certificate must have one of these names; any will do when empty. */
  readonly allowedSans: readonly string[];
}

/** Reads `tls_server_config`; undefined when it cannot be used, which is reported. */
export async function readServerTls(
  config: TlsServerConfig,
  reporter: Reporter,
): Promise<ServerTls | undefined> {
  const { cert, cert_file, key, key_file } = config;
  if ((cert_file ?? cert) === undefined) {
    reporter.report('a certificate is missing: set cert_file or cert');
  }
  if ((key_file ?? key) === undefined) {
    reporter.report('a private key is missing: set key_file or key');
  }
  const identity = await readIdentity(config, reporter);
  const client = await readClientAuth(config, reporter);
  const protocol = readProtocol(config, reporter);
  if (identity === undefined) return undefined;
  // Loaded only where TLS is served.
  const { constants } = process.getBuiltinModule('node:crypto');
  const { createSecureContext } = process.getBuiltinModule('node:tls');
  const context = (): SecureContextOptions => ({
    cert: identity.cert,
    key: identity.key,
    ...(client.clientCas !== undefined && { ca: client.clientCas }),
    // A resumed session would not show its certificate again, although the CAs may have changed.
    ...(client.clientAuth.requested && { secureOptions: constants.SSL_OP_NO_TICKET }),
    ...protocol,
  });
  try {
    createSecureContext(context());
  } catch (error) {
    reporter.report(`OpenSSL rejects these settings: ${messageOf(error)}`);
  }
  return { context, notAfterMs: identity.notAfterMs, ...client };
}

async function readClientAuth(config: TlsServerConfig, reporter: Reporter) {
  const { client_allowed_sans: allowedSans, client_ca_file, client_ca } = config;
  const clientAuth: ClientAuth = config.client_auth_type ?? CLIENT_AUTH_TYPES.NoClientCert;
  const clientCas = await readCas(config, reporter, 'client_ca');
  const remedy = 'set client_auth_type to RequireAndVerifyClientCert';
  const notRequested = `but no client certificate is requested: ${remedy}`;
  const hasCas = (client_ca_file ?? client_ca) !== undefined;
  if (hasCas && !clientAuth.requested) {
    reporter.report(
      `a client CA, ${notRequested}`,
      client_ca_file ? 'client_ca_file' : 'client_ca',
    );
  }
  if (allowedSans.length > 0 && !clientAuth.requested) {
    reporter.report(`names, ${notRequested}`, 'client_allowed_sans');
  } else if (allowedSans.length > 0 && !clientAuth.verified) {
    const message = `certificates are not verified, so a client can claim any name: ${remedy}`;
    reporter.warn(message, 'client_allowed_sans');
  }
  if (!hasCas && clientAuth.verified) {
    const message = 'without client_ca_file, certificates of every public CA are accepted: set it';
    reporter.warn(message, 'client_auth_type');
  }
  return { clientAuth, clientCas, allowedSans };
}

/** Versions, suites and curves in OpenSSL's words. */
function readProtocol(config: TlsServerConfig, reporter: Reporter): SecureContextOptions {
  const { min_version = 'TLSv1.2', max_version = 'TLSv1.3' } = config;
  const { cipher_suites, curve_preferences } = config;
  if (min_version > max_version) {
    reporter.report('min_version is above max_version: no version is left', 'min_version');
  }
  const ciphers = cipher_suites.filter((each) => each !== undefined).join(':');
  // The suites of TLS 1.3 cannot be chosen. When only they are named, nothing is left for TLS 1.2.
  const isNewest = ciphers === '' && cipher_suites.length > 0;
  if (isNewest && max_version < 'TLSv1.3') {
    reporter.report('no suite for max_version: name one of TLS 1.2', 'cipher_suites');
  }
  const curves = curve_preferences.filter((each) => each !== undefined).join(':');
  return {
    minVersion: isNewest ? 'TLSv1.3' : min_version,
    maxVersion: max_version,
    honorCipherOrder: config.prefer_server_cipher_suites,
    ...(curves !== '' && { ecdhCurve: curves }),
    ...(ciphers !== '' && { ciphers }),
  };
}

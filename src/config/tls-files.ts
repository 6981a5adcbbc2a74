import type { KeyObject, X509Certificate } from 'node:crypto';
import { formatTime, messageOf } from '#base';
import type { Reporter } from './document.ts';
import { readPemFile } from './files.ts';
import type { ClusterApiConfig } from './keys-and-flags.ts';

/** Settings that name certificates and keys. */
type TlsFiles = Readonly<Record<string, unknown>>;

/**
 * Reads one of two keys such as `cert_file` and `cert`. Undefined when neither is set or it cannot be used, which is
 * reported. `parse` gets the text and its source for messages.
 */
async function readPem<T>(
  values: TlsFiles,
  reporter: Reporter,
  name: string,
  parse: (text: string, source: string) => T,
) {
  const { [name]: inline, [`${name}_file`]: file } = values;
  const isFile = typeof file === 'string';
  const key = isFile ? `${name}_file` : name;
  const source = isFile ? `the file ${file}` : 'the value';
  try {
    const pem = isFile ? await readPemFile(file, source) : inline;
    return typeof pem === 'string' ? { value: parse(pem, source), key, source } : undefined;
  } catch (error) {
    reporter.report(messageOf(error), key);
    return undefined;
  }
}

/**
 * Reads `cert_file` and `key_file`, or `cert` and `key`: the certificates as PEM, the leaf first, with the key that
 * belongs to them. Undefined when one is missing or cannot be used, which is reported. Warns when the certificate has
 * expired.
 */
export async function readIdentity(values: TlsFiles, reporter: Reporter) {
  const certificates = await readPem(values, reporter, 'cert', parseCertificates);
  const key = await readPem(values, reporter, 'key', parsePrivateKey);
  if (!certificates || !key) return undefined;
  if (!certificates.value[0]?.checkPrivateKey(key.value)) {
    const message = `${key.source} holds a key that does not belong to the certificate in ${certificates.source}`;
    reporter.report(`${message}: give both of one pair`, key.key);
    return undefined;
  }
  /** When the first of the certificates expires, ms since the epoch. */
  const notAfterMs = Math.min(...certificates.value.map(({ validTo }) => Date.parse(validTo)));
  if (notAfterMs < Date.now()) {
    const when = formatTime(new Date(notAfterMs).toISOString());
    reporter.warn(`the certificate expired at ${when}: renew it`, certificates.key);
  }
  return {
    cert: formatCertificates(certificates.value),
    key: key.value.export({ type: 'pkcs8', format: 'pem' }).toString(),
    notAfterMs,
  };
}

/** The CAs of two keys such as `ca_file` and `ca` as PEM; undefined when they cannot be used, which is reported. */
export async function readCas(
  values: TlsFiles,
  reporter: Reporter,
  name: string,
): Promise<string | undefined> {
  const cas = await readPem(values, reporter, name, parseCertificates);
  return cas && formatCertificates(cas.value);
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

function parseCertificates(pem: string, source: string): readonly X509Certificate[] {
  const blocks = pem.match(CERTIFICATE) ?? [];
  if (blocks.length === 0) throw new Error(`${source} holds no certificate in PEM form`);
  // Loaded only where certificates are read.
  const crypto = process.getBuiltinModule('node:crypto');
  return blocks.map((block, index) => {
    try {
      return new crypto.X509Certificate(block);
    } catch (cause) {
      const which = `(number ${index + 1})`;
      throw new Error(`${source} holds a certificate that cannot be read ${which}`, { cause });
    }
  });
}

function parsePrivateKey(pem: string, source: string): KeyObject {
  try {
    return process.getBuiltinModule('node:crypto').createPrivateKey(pem);
  } catch (cause) {
    const isEncrypted = /-----BEGIN ENCRYPTED|Proc-Type: 4,ENCRYPTED/.test(pem);
    const reason = isEncrypted
      ? 'holds a key that needs a pass phrase: decrypt it with `openssl pkey`'
      : 'holds no private key in PEM form';
    throw new Error(`${source} ${reason}`, { cause });
  }
}

/** Writes PEM that OpenSSL reads whole. It silently skips a part of a text that is a little off. */
function formatCertificates(certificates: readonly X509Certificate[]): string {
  return certificates.map(String).join('');
}

/** The TLS settings of connections to a cluster, with the contents of their files. */
export interface ClientTls {
  /** PEM; the usual CAs when absent. */
  readonly ca: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
  readonly servername: string | undefined;
  readonly rejectUnauthorized: boolean;
  /** When the first of the certificates of `cert` expires, ms since the epoch. */
  readonly notAfterMs: number | undefined;
}

function reject(message: string): never {
  throw new Error(message);
}

/** Reads the files of TLS settings. Without a reporter for what is wrong with them it rejects with the reason. */
export async function readClientTls(
  { server_name, insecure_skip_verify, ...values }: ClusterApiConfig['tls'],
  reporter: Reporter = { report: reject, warn: () => undefined },
): Promise<ClientTls> {
  const ca = await readCas(values, reporter, 'ca');
  const identity = await readIdentity(values, reporter);
  return {
    ca,
    cert: identity?.cert,
    key: identity?.key,
    servername: server_name,
    rejectUnauthorized: !insecure_skip_verify,
    notAfterMs: identity?.notAfterMs,
  };
}

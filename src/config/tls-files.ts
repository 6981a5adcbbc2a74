import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { type ConfigIssues, messageOf, type Place } from './issues.ts';
import type { TlsConfig } from './schema.ts';
import { explainFileError, readSmallText } from './files.ts';
import type { AnySection } from './validate.ts';

/** PEM text and where it was named, for messages. */
export interface Pem {
  readonly text: string;
  readonly place: Place;
  /** `the file /etc/tls.crt` or `the value`. */
  readonly source: string;
}

/**
 * PEM text of two keys such as `cert_file` and `cert`: that of the file, or else that of the key
 * itself. A file that cannot be read is reported.
 */
export async function readPem(section: AnySection, name: string): Promise<Pem | undefined> {
  const { [name]: text, [`${name}_file`]: file } = section.values;
  if (typeof file !== 'string') {
    return typeof text === 'string'
      ? { text, place: section.placeOf(name), source: 'the value' }
      : undefined;
  }
  try {
    const place = section.placeOf(`${name}_file`);
    return { text: await readTextFile(file), place, source: `the file ${file}` };
  } catch (error) {
    section.report(`${name}_file`, messageOf(error));
    return undefined;
  }
}

async function readTextFile(file: string): Promise<string> {
  return readSmallText(file).catch((cause: unknown) => {
    throw new Error(`cannot read the file ${file}: ${explainFileError(cause)}`, { cause });
  });
}

/** Certificates with the key that belongs to them. */
export interface Identity {
  /** PEM, the leaf first. */
  readonly certificates: string;
  readonly key: KeyObject;
  /** When the first of the certificates expires, ms since the epoch. */
  readonly notAfterMs: number;
}

/** The identity, or undefined when it cannot be used, which is reported; an expired one is warned of. */
export function checkIdentity(
  { certificates, key }: { readonly certificates: Pem; readonly key: Pem },
  issues: ConfigIssues,
): Identity | undefined {
  const chain = parseOrReport(certificates, parseCertificates, issues);
  const privateKey = parseOrReport(key, parsePrivateKey, issues);
  const [leaf] = chain ?? [];
  if (!chain || !leaf || !privateKey) return undefined;
  if (!leaf.checkPrivateKey(privateKey)) {
    const message = `${key.source} holds a key that does not belong to the certificate in ${certificates.source}`;
    issues.report(key.place, `${message}: give both of one pair`);
    return undefined;
  }
  const notAfterMs = earliestExpiry(chain);
  if (notAfterMs < Date.now()) {
    const when = new Date(notAfterMs).toISOString();
    issues.warn(certificates.place, `the certificate expired at ${when}: renew it`);
  }
  return { certificates: formatCertificates(chain), key: privateKey, notAfterMs };
}

/** The CAs as PEM, or undefined when they cannot be used, which is reported. */
export function checkCas(cas: Pem, issues: ConfigIssues): string | undefined {
  const certificates = parseOrReport(cas, parseCertificates, issues);
  return certificates && formatCertificates(certificates);
}

function parseOrReport<T>(
  pem: Pem,
  parse: (text: string) => T,
  issues: ConfigIssues,
): T | undefined {
  try {
    return parse(pem.text);
  } catch (error) {
    issues.report(pem.place, `${pem.source} ${messageOf(error)}`);
    return undefined;
  }
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

/** All certificates of a PEM text; throws an Error with the reason when there is none or one cannot be read. */
function parseCertificates(text: string): readonly X509Certificate[] {
  const blocks = text.match(CERTIFICATE) ?? [];
  if (blocks.length === 0) throw new Error('holds no certificate in PEM form');
  return blocks.map((block, index) => {
    try {
      return new X509Certificate(block);
    } catch (cause) {
      throw new Error(`holds a certificate that cannot be read (number ${index + 1})`, { cause });
    }
  });
}

/** The private key of a PEM text; throws an Error with the reason when it cannot be used. */
function parsePrivateKey(text: string): KeyObject {
  try {
    return createPrivateKey(text);
  } catch (cause) {
    const isEncrypted = /-----BEGIN ENCRYPTED|Proc-Type: 4,ENCRYPTED/.test(text);
    const reason = isEncrypted
      ? 'holds a key that needs a pass phrase: decrypt it with `openssl pkey`'
      : 'holds no private key in PEM form';
    throw new Error(reason, { cause });
  }
}

/** As PEM text that OpenSSL reads whole; of a text that is a little off it silently skips a part. */
function formatCertificates(certificates: readonly X509Certificate[]): string {
  return certificates.map(String).join('');
}

function earliestExpiry(certificates: readonly X509Certificate[]): number {
  return Math.min(...certificates.map(({ validTo }) => Date.parse(validTo)));
}

/** How a cluster is spoken to over TLS: the contents of the files of a TlsConfig. */
export interface ClientTls {
  /** PEM; the usual CAs when absent. */
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  readonly servername?: string | undefined;
  readonly rejectUnauthorized: boolean;
  /** When the first of the certificates of `cert` expires, ms since the epoch. */
  readonly notAfterMs?: number | undefined;
}

/** Reads the files of the settings. Rejects with a message that names the file when one cannot be used. */
export async function readClientTls(config: TlsConfig): Promise<ClientTls> {
  const { ca_file, cert_file, key_file } = config;
  const ca = await readUsable(ca_file, parseCertificates);
  const cert = await readUsable(cert_file, parseCertificates);
  const key = await readUsable(key_file, parsePrivateKey);
  if (cert && key && !cert.value[0]?.checkPrivateKey(key.value)) {
    throw new Error(`the key in ${key_file} does not belong to the certificate in ${cert_file}`);
  }
  return {
    ca: ca && formatCertificates(ca.value),
    cert: cert && formatCertificates(cert.value),
    key: key?.text,
    servername: config.server_name,
    rejectUnauthorized: !config.insecure_skip_verify,
    notAfterMs: cert && earliestExpiry(cert.value),
  };
}

async function readUsable<T>(
  file: string | undefined,
  parse: (text: string) => T,
): Promise<{ readonly text: string; readonly value: T } | undefined> {
  if (file === undefined) return undefined;
  const text = await readTextFile(file);
  try {
    return { text, value: parse(text) };
  } catch (cause) {
    throw new Error(`the file ${file} ${messageOf(cause)}`, { cause });
  }
}

/** The files that these settings name. */
export function clientTlsFiles({ ca_file, cert_file, key_file }: TlsConfig): readonly string[] {
  return [ca_file, cert_file, key_file].filter((file) => file !== undefined);
}

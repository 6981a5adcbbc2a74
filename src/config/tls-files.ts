import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { messageOf } from '../format.ts';
import { SourceDocument } from './document.ts';
import { readTextFile, warnOfOtherUsers } from './files.ts';
import { ConfigIssues } from './issues.ts';
import type { TlsConfig } from './schema.ts';
import { type AnySection, Section } from './validate.ts';

/**
 * PEM text of two keys such as `cert_file` and `cert`: that of the file, or else that of the key itself; with the key and
 * the source for messages. A file that cannot be read is reported.
 */
async function readPem(section: AnySection, name: string) {
  const { [name]: text, [`${name}_file`]: file } = section.values;
  if (typeof file !== 'string') {
    return typeof text === 'string' ? { text, key: name, source: 'the value' } : undefined;
  }
  const key = `${name}_file`;
  const source = `the file ${file}`;
  try {
    return { text: await readTextFile(file, source), key, source };
  } catch (error) {
    section.report(messageOf(error), key);
    return undefined;
  }
}

/**
 * Reads `cert_file` and `key_file`, or `cert` and `key`: the certificates as PEM, the leaf first, with the key that
 * belongs to them. Undefined when one is missing or cannot be used, which is reported. Warns when the certificate has
 * expired and when every user can read the key.
 */
export async function readIdentity(section: AnySection) {
  const certificates = await readPem(section, 'cert');
  const key = await readPem(section, 'key');
  const { key_file } = section.values;
  if (key && typeof key_file === 'string') {
    await warnOfOtherUsers(key_file, 'the secret file', true, (text) =>
      section.warn(text, 'key_file'),
    );
  }
  if (!certificates || !key) return undefined;
  const chain = parseOrReport(section, certificates, parseCertificates);
  const privateKey = parseOrReport(section, key, parsePrivateKey);
  if (!chain || !privateKey) return undefined;
  if (!chain[0]?.checkPrivateKey(privateKey)) {
    const message = `${key.source} holds a key that does not belong to the certificate in ${certificates.source}`;
    section.report(`${message}: give both of one pair`, key.key);
    return undefined;
  }
  /** When the first of the certificates expires, ms since the epoch. */
  const notAfterMs = Math.min(...chain.map(({ validTo }) => Date.parse(validTo)));
  if (notAfterMs < Date.now()) {
    const when = new Date(notAfterMs).toISOString();
    section.warn(`the certificate expired at ${when}: renew it`, certificates.key);
  }
  return { certificates: formatCertificates(chain), key: privateKey, notAfterMs };
}

/** The CAs of two keys such as `ca_file` and `ca` as PEM; undefined when they cannot be used, which is reported. */
export async function readCas(section: AnySection, name: string): Promise<string | undefined> {
  const pem = await readPem(section, name);
  const certificates = pem && parseOrReport(section, pem, parseCertificates);
  return certificates && formatCertificates(certificates);
}

function parseOrReport<T>(
  section: AnySection,
  pem: NonNullable<Awaited<ReturnType<typeof readPem>>>,
  parse: (text: string) => T,
): T | undefined {
  try {
    return parse(pem.text);
  } catch (error) {
    section.report(`${pem.source} ${messageOf(error)}`, pem.key);
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

/** Reads the files of TLS settings. What is wrong with these is reported. */
export async function checkClientTls(section: Section<TlsConfig>): Promise<ClientTls> {
  const { server_name, insecure_skip_verify = false } = section.values;
  const ca = await readCas(section, 'ca');
  const identity = await readIdentity(section);
  return {
    ca,
    cert: identity?.certificates,
    key: identity?.key.export({ type: 'pkcs8', format: 'pem' }).toString(),
    servername: server_name,
    rejectUnauthorized: !insecure_skip_verify,
    notAfterMs: identity?.notAfterMs,
  };
}

/** Reads the files of TLS settings; rejects with a ConfigError when one cannot be used. */
export async function readClientTls(config: TlsConfig): Promise<ClientTls> {
  const issues = new ConfigIssues();
  const document = new SourceDocument('', issues);
  const tls = await checkClientTls(new Section<TlsConfig>(document, [], config, config));
  issues.throwIfAny();
  return tls;
}

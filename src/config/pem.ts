import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { explainFileError } from './secret.ts';
import { readSmallText } from './small-file.ts';
import { placeOf, read } from './section.ts';
import type { Option, Section } from './section.ts';
import type { Place } from './raw.ts';

/** PEM text and where it was named, for messages. */
export interface Pem {
  readonly text: string;
  readonly place: Place;
  /** `the file /etc/tls.crt` or `the value`. */
  readonly source: string;
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

/** The text that a file holds or that stands in the configuration itself; the file wins. */
export async function readPem(
  section: Section,
  rows: { readonly file: Option<string>; readonly text?: Option<string> },
): Promise<Pem | undefined> {
  const file = read(section, rows.file);
  if (!file) {
    const text = rows.text && read(section, rows.text);
    if (!rows.text || !text) return undefined;
    return { text, place: placeOf(section, rows.text), source: 'the value' };
  }
  const place = placeOf(section, rows.file);
  try {
    return { text: await readSmallText(file), place, source: `the file ${file}` };
  } catch (error) {
    const reason = explainFileError(error);
    section.findings.report(place, `cannot read the file ${file}: ${reason}`);
    return undefined;
  }
}

/** All certificates of a PEM text; throws an Error with the reason when there is none or one cannot be read. */
export function parseCertificates(text: string): readonly X509Certificate[] {
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
export function parsePrivateKey(text: string): KeyObject {
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
export function writeCertificates(certificates: readonly X509Certificate[]): string {
  return certificates.map(String).join('');
}

/** The moment at which the first certificate of a chain expires, in ms since the epoch. */
export function earliestExpiry(certificates: readonly X509Certificate[]): number {
  return Math.min(...certificates.map(({ validTo }) => Date.parse(validTo)));
}

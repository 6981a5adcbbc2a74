// oxlint-disable-next-line import/no-unassigned-import -- what the next import needs
import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const DAY_MS = 86_400_000;

/** PEM texts. */
export interface Identity {
  readonly cert: string;
  readonly key: string;
}

interface Subject {
  readonly name: string;
  /** Of the form `dns:a`, `ip:1.2.3.4`, `email:a@b`, `url:spiffe://a`, `dn:CN=a`, `upn:a`. */
  readonly sans?: readonly string[];
  readonly usage?: 'server' | 'client';
  /** From now on; 1 by default. */
  readonly days?: number;
  /** The start, from now on; by default a day before now or the end. */
  readonly startDays?: number;
}

/** Certificates of a CA of its own, newly made. */
export interface Authority {
  readonly cert: string;
  issue(subject: Subject): Promise<Identity>;
  /** A CA whose certificate this one signs. */
  issueAuthority(name: string): Promise<Authority>;
}

export async function createAuthority(name = 'test CA'): Promise<Authority> {
  const keys = await createKeys();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: '01',
    name: `CN=${name}`,
    ...validity(1),
    keys,
    extensions: AUTHORITY,
  });
  return authorityWith(certificate, keys);
}

const AUTHORITY = [
  new x509.BasicConstraintsExtension(true, undefined, true),
  new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
];

function authorityWith(
  certificate: x509.X509Certificate,
  keys: webcrypto.CryptoKeyPair,
): Authority {
  let serial = 1;
  const sign = async (
    subject: string,
    valid: ReturnType<typeof validity>,
    extensions: x509.Extension[],
  ) => {
    const own = await createKeys();
    serial += 1;
    const issued = await x509.X509CertificateGenerator.create({
      serialNumber: serial.toString(16).padStart(2, '0'),
      subject: `CN=${subject}`,
      issuer: certificate.subject,
      ...valid,
      publicKey: own.publicKey,
      signingKey: keys.privateKey,
      extensions,
    });
    return { issued, own };
  };
  return {
    cert: certificate.toString('pem'),
    async issueAuthority(subject) {
      const { issued, own } = await sign(subject, validity(1), AUTHORITY);
      return authorityWith(issued, own);
    },
    async issue({ name: subject, sans = [], usage = 'server', days = 1, startDays }) {
      const { issued, own } = await sign(subject, validity(days, startDays), describe(sans, usage));
      return identityOf(issued, own);
    },
  };
}

async function identityOf(
  certificate: x509.X509Certificate,
  { privateKey }: webcrypto.CryptoKeyPair,
): Promise<Identity> {
  const key = await webcrypto.subtle.exportKey('pkcs8', privateKey);
  return {
    cert: certificate.toString('pem'),
    key: x509.PemConverter.encode(key, x509.PemConverter.PrivateKeyTag),
  };
}

/** A certificate for clients that no CA has issued. */
export async function createSelfSigned(name: string): Promise<Identity> {
  const keys = await createKeys();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: '01',
    name: `CN=${name}`,
    ...validity(1),
    keys,
    extensions: describe([], 'client'),
  });
  return identityOf(certificate, keys);
}

async function createKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
}

/** An expired one was valid the day before it expired. */
function validity(days: number, startDays = Math.min(0, days) - 1) {
  const now = Date.now();
  return {
    notBefore: new Date(now + startDays * DAY_MS),
    notAfter: new Date(now + days * DAY_MS),
  };
}

function describe(sans: readonly string[], usage: 'server' | 'client'): x509.Extension[] {
  const purpose =
    usage === 'server' ? x509.ExtendedKeyUsage.serverAuth : x509.ExtendedKeyUsage.clientAuth;
  const names = sans.map((san) => {
    const colon = san.indexOf(':');
    return new x509.GeneralName(typeOf(san.slice(0, colon)), san.slice(colon + 1));
  });
  return [
    new x509.ExtendedKeyUsageExtension([purpose]),
    ...(names.length > 0 ? [new x509.SubjectAlternativeNameExtension(names)] : []),
  ];
}

const NAME_TYPES = ['dns', 'ip', 'email', 'url', 'dn', 'upn'] as const;

function typeOf(word: string): (typeof NAME_TYPES)[number] {
  const type = NAME_TYPES.find((one) => one === word);
  if (type === undefined) throw new Error(`no kind of name: ${word}`);
  return type;
}

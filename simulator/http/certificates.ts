import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { isIP } from 'node:net';

/** PEM texts: a CA of its own, and a server's key and certificate that it has signed. */
export interface ServerIdentity {
  readonly ca: string;
  readonly key: string;
  readonly cert: string;
}

const DAY_MS = 86_400_000;
const VALID_DAYS = 30;
const OID = {
  commonName: [0x55, 0x04, 0x03],
  ecdsaWithSha256: [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02],
  subjectKey: [0x55, 0x1d, 0x0e],
  keyUsage: [0x55, 0x1d, 0x0f],
  subjectNames: [0x55, 0x1d, 0x11],
  basicConstraints: [0x55, 0x1d, 0x13],
  authorityKey: [0x55, 0x1d, 0x23],
  extendedKeyUsage: [0x55, 0x1d, 0x25],
  serverAuthentication: [0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x01],
} as const;

/**
 * A new CA and a certificate for these host names and addresses, valid for a month. Node.js can read certificates and not
 * make them; this writes the few structures that one needs, so that neither a package nor the program openssl is.
 */
export function createServerIdentity(
  hosts: readonly string[],
  nowMs: number = Date.now(),
): ServerIdentity {
  const authority = { name: 'crdb-exporter simulator CA', ...createKeys() };
  const server = { name: 'node', ...createKeys() };
  const isAuthority = [
    extension(OID.basicConstraints, sequence(BOOLEAN_TRUE), true),
    extension(OID.keyUsage, Buffer.from([BIT_STRING, 2, 1, 0b0000_0110]), true),
  ];
  const isServer = [
    extension(OID.keyUsage, Buffer.from([BIT_STRING, 2, 7, 0b1000_0000]), true),
    extension(OID.extendedKeyUsage, sequence(oid(OID.serverAuthentication))),
    extension(OID.subjectNames, sequence(...hosts.map(generalName))),
  ];
  return {
    ca: certify(authority, authority, isAuthority, nowMs),
    key: server.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: certify(server, authority, isServer, nowMs),
  };
}

interface Party {
  readonly name: string;
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

function createKeys(): Omit<Party, 'name'> {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' });
}

/** An X.509 certificate of version 3. */
function certify(
  subject: Party,
  issuer: Party,
  extensions: readonly Buffer[],
  nowMs: number,
): string {
  const algorithm = sequence(oid(OID.ecdsaWithSha256));
  const id = keyId(subject);
  const content = sequence(
    element(EXPLICIT, integer([2])),
    // Positive, and another one for each key.
    integer([0x01, ...id.subarray(0, 8)]),
    algorithm,
    distinguishedName(issuer.name),
    sequence(utcTime(nowMs - DAY_MS), utcTime(nowMs + VALID_DAYS * DAY_MS)),
    distinguishedName(subject.name),
    publicKeyOf(subject),
    element(
      EXPLICIT + 3,
      sequence(
        ...extensions,
        extension(OID.subjectKey, element(OCTET_STRING, id)),
        extension(OID.authorityKey, sequence(element(CONTEXT, keyId(issuer)))),
      ),
    ),
  );
  const signature = sign('sha256', content, issuer.privateKey);
  const certificate = sequence(content, algorithm, bitString(signature));
  const lines = certificate.toString('base64').match(/.{1,64}/g) ?? [];
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}

function publicKeyOf({ publicKey }: Party): Buffer {
  return publicKey.export({ type: 'spki', format: 'der' });
}

function keyId(party: Party): Buffer {
  return createHash('sha1').update(publicKeyOf(party)).digest();
}

// Tags of DER.
const INTEGER = 0x02;
const BIT_STRING = 0x03;
const OCTET_STRING = 0x04;
const OBJECT_ID = 0x06;
const UTF8_STRING = 0x0c;
const UTC_TIME = 0x17;
const SEQUENCE = 0x30;
const SET = 0x31;
const CONTEXT = 0x80;
const EXPLICIT = 0xa0;
const BOOLEAN_TRUE = Buffer.from([0x01, 1, 0xff]);
/** Kinds of names of a host. */
const DNS_NAME = CONTEXT + 2;
const IP_ADDRESS = CONTEXT + 7;

function element(tag: number, ...contents: readonly Buffer[]): Buffer {
  const content = Buffer.concat(contents);
  return Buffer.concat([Buffer.from([tag]), lengthOf(content), content]);
}

/** One byte below 128; else their number and the bytes of the length. */
function lengthOf({ length }: Buffer): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  return length < 0x100
    ? Buffer.from([0x81, length])
    : Buffer.from([0x82, length >> 8, length & 0xff]);
}

function sequence(...contents: readonly Buffer[]): Buffer {
  return element(SEQUENCE, ...contents);
}

function integer(bytes: readonly number[]): Buffer {
  return element(INTEGER, Buffer.from(bytes));
}

function bitString(content: Buffer): Buffer {
  return element(BIT_STRING, Buffer.from([0]), content);
}

function oid(bytes: readonly number[]): Buffer {
  return element(OBJECT_ID, Buffer.from(bytes));
}

function distinguishedName(name: string): Buffer {
  return sequence(
    element(SET, sequence(oid(OID.commonName), element(UTF8_STRING, Buffer.from(name)))),
  );
}

/** `260102030405Z` for 2026-01-02 03:04:05. */
function utcTime(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replace(/\D/g, '').slice(2, 14);
  return element(UTC_TIME, Buffer.from(`${digits}Z`));
}

function extension(id: readonly number[], value: Buffer, isCritical = false): Buffer {
  return sequence(oid(id), ...(isCritical ? [BOOLEAN_TRUE] : []), element(OCTET_STRING, value));
}

function generalName(host: string): Buffer {
  const family = isIP(host);
  if (family === 0) return element(DNS_NAME, Buffer.from(host));
  return element(IP_ADDRESS, family === 4 ? bytesOfIPv4(host) : bytesOfIPv6(host));
}

function bytesOfIPv4(host: string): Buffer {
  return Buffer.from(host.split('.').map(Number));
}

/** The 16 bytes of `2001:db8::1`; the gap is as many zeros as are missing. */
function bytesOfIPv6(host: string): Buffer {
  const [head = '', tail = ''] = new URL(`http://[${host}]`).hostname.slice(1, -1).split('::');
  const [before, after] = [groupsOf(head), groupsOf(tail)];
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => 0);
  return Buffer.from(
    [...before, ...zeros, ...after].flatMap((group) => [group >> 8, group & 0xff]),
  );
}

function groupsOf(text: string): number[] {
  return text === '' ? [] : text.split(':').map((group) => parseInt(group, 16));
}

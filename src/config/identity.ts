import type { KeyObject } from 'node:crypto';
import {
  earliestExpiry,
  parseCertificates,
  parsePrivateKey,
  type Pem,
  writeCertificates,
} from './pem.ts';
import type { Section } from './section.ts';

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
  section: Section,
  { certificates, key }: { readonly certificates: Pem; readonly key: Pem },
): Identity | undefined {
  const chain = orReport(section, certificates, parseCertificates);
  const privateKey = orReport(section, key, parsePrivateKey);
  const [leaf] = chain ?? [];
  if (!chain || !leaf || !privateKey) return undefined;
  if (!leaf.checkPrivateKey(privateKey)) {
    const message = `${key.source} holds a key that does not belong to the certificate in ${certificates.source}`;
    section.findings.report(key.place, `${message}: give both of one pair`);
    return undefined;
  }
  const notAfterMs = earliestExpiry(chain);
  if (notAfterMs < Date.now()) {
    const when = new Date(notAfterMs).toISOString();
    section.findings.warn(certificates.place, `the certificate expired at ${when}: renew it`);
  }
  return { certificates: writeCertificates(chain), key: privateKey, notAfterMs };
}

/** The CAs as PEM, or undefined when they cannot be used, which is reported. */
export function checkCas(section: Section, cas: Pem): string | undefined {
  const certificates = orReport(section, cas, parseCertificates);
  return certificates && writeCertificates(certificates);
}

function orReport<T>(section: Section, pem: Pem, parse: (text: string) => T): T | undefined {
  try {
    return parse(pem.text);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    section.findings.report(pem.place, `${pem.source} ${reason}`);
    return undefined;
  }
}

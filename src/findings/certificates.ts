import type { NodeStatus } from '../collectors/nodes/collector.ts';
import { certificateOf } from '../collectors/nodes/measurements.ts';
import { formatDuration, formatList, formatNodes } from '../format.ts';
import type { Check } from './check.ts';

/** The earliest expiry of a certificate of the nodes, and how long it lives where a renewal was seen. Seconds. */
interface CertificateLife {
  readonly expiry: number;
  readonly life?: number | undefined;
}

/** By the name of the certificate: `node`, `ca`. */
export type CertificateLives = ReadonlyMap<string, CertificateLife>;

/** Notes when certificates expire: a later expiry than before is a renewal. */
export function followCertificates(
  before: CertificateLives,
  nodes: readonly NodeStatus[],
  nowMs: number,
): CertificateLives {
  const lives = readExpiries(nodes).map(({ name, expiry }) => {
    const { expiry: last = expiry, life = 0 } = before.get(name) ?? {};
    const longest = expiry > last ? Math.max(life, expiry - nowMs / 1000) : life;
    return [name, { expiry, life: longest > 0 ? longest : undefined }] as const;
  });
  return new Map([...before, ...lives]);
}

interface Expiry {
  readonly name: string;
  readonly expiry: number;
  /** The nodes on which it expires first. */
  readonly nodeIds: number[];
}

function readExpiries(nodes: readonly NodeStatus[]): readonly Expiry[] {
  const first = new Map<string, Expiry>();
  for (const { id, isFresh, metrics } of nodes) {
    if (!isFresh) continue;
    for (const [key, expiry] of metrics) {
      const name = certificateOf(key);
      // 0 means that the node has no such certificate.
      if (name === undefined || expiry === 0) continue;
      const known = first.get(name);
      if (known === undefined || expiry < known.expiry)
        first.set(name, { name, expiry, nodeIds: [id] });
      else if (expiry === known.expiry) known.nodeIds.push(id);
    }
  }
  return [...first.values()];
}

const DAY = 86_400;
/** Only a life of at most so many days is short, as of a certificate that is renewed automatically. */
const SHORT_DAYS = 30;
/** A certificate that is renewed automatically is renewed before. */
const LAST_SECONDS = 6 * 3600;
/** So long the alert waits; in its first day the exporter may not have seen a renewal yet. */
const WAIT_SECONDS = 3600;

function isAuthority(name: string): boolean {
  return /(?:^|-)ca(?:-|$)/.test(name);
}

/** Certificates of the nodes that expire soon, by their life where it is short. */
export const CERTIFICATES: Check = {
  key: 'certificates',
  about: 'nodes',
  alert: 'CrdbCertificateExpiring',
  find({ fresh, certificates, nowMs, thresholds }) {
    const expiring = readExpiries(fresh).flatMap((certificate) => {
      const { name, expiry } = certificate;
      const left = expiry - nowMs / 1000;
      const life = certificates.get(name)?.life;
      const isWithin = (days: number, authorityDays: number, share: number): boolean => {
        const isSoon = left < days * DAY || (isAuthority(name) && left < authorityDays * DAY);
        const isShort = life !== undefined && life <= SHORT_DAYS * DAY;
        return isSoon && !(isShort && left >= share * life);
      };
      const { certificate_days, ca_days, short_certificate } = thresholds;
      if (!isWithin(certificate_days, ca_days, short_certificate)) return [];
      const isCritical = isWithin(
        thresholds.certificate_critical_days,
        thresholds.ca_critical_days,
        thresholds.short_certificate_critical,
      );
      const isSure = life !== undefined || left <= LAST_SECONDS;
      return [{ ...certificate, left, isCritical, isSure }];
    });
    if (expiring.length === 0) return undefined;
    const texts = expiring.map(({ name, left, nodeIds }) => {
      const when = left <= 0 ? 'has expired' : `in ${formatDuration(left)}`;
      return `${name} ${when} (${formatNodes(nodeIds)})`;
    });
    return {
      nodeIds: [...new Set(expiring.flatMap(({ nodeIds }) => nodeIds))],
      level: expiring.some(({ isCritical }) => isCritical) ? 'critical' : undefined,
      normalSeconds: expiring.some(({ isSure }) => isSure) ? WAIT_SECONDS : DAY,
      text: `Certificates expire: ${formatList(texts)}.`,
    };
  },
  next: 'Install new files and send SIGHUP to the nodes: after the expiry, nodes and clients can no longer connect.',
};

import { formatDuration, formatList, formatNodes } from '../format.ts';
import { readExpiries } from './certificate-lives.ts';
import type { Check } from './check.ts';

const DAY = 86_400;
/** Only a life of at most so many days is short, as of a certificate that is renewed automatically. */
const SHORT_DAYS = 30;
/** A certificate that is renewed automatically is renewed before. */
const LAST_SECONDS = 6 * 3600;

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
      // In its first day the exporter may not have seen a renewal yet.
      normalSeconds: expiring.some(({ isSure }) => isSure) ? undefined : DAY,
      text: `Certificates expire: ${formatList(texts)}.`,
    };
  },
  next: 'Install new files and send SIGHUP to the nodes: after the expiry, nodes and clients can no longer connect.',
};

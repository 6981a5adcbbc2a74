import type { Thresholds } from '#alerts';
import { formatDuration, formatList, formatNodes } from '#base';
import { type Expiry, readExpiries } from './certificate-lives.ts';
import type { Check } from './check.ts';
import type { Evidence } from './evidence.ts';

const DAY = 86_400;
/** Only a life of at most 30 days is short, as of a certificate that is renewed automatically. */
const SHORT_SECONDS = 30 * DAY;
/** A certificate that is renewed automatically is renewed before. */
const LAST_SECONDS = 6 * 3600;
/** An end so soon is information, for those who renew by hand. */
const SOON_SECONDS = 21 * DAY;

/** An end that is near, as rules and page judge it. */
interface Expiring extends Expiry {
  readonly left: number;
  readonly level: 'critical' | 'warning' | 'info';
}

function isAuthority(name: string): boolean {
  return /(?:^|-)ca(?:-|$)/.test(name);
}

/**
 * How long before its end a certificate should be renewed, in seconds. Example: one of 28 days that was renewed before is late 36
 * hours before its end, one of a day after 18 hours; of another one the limit is in days.
 */
export function renewalLimits(name: string, life: number | undefined, thresholds: Thresholds) {
  const short = (share: number, hours: number): number =>
    Math.min(share * (life ?? 0), hours * 3600);
  if (life !== undefined && life <= SHORT_SECONDS)
    return {
      warning: short(thresholds.short_certificate, thresholds.short_certificate_hours),
      critical: short(
        thresholds.short_certificate_critical,
        thresholds.short_certificate_critical_hours,
      ),
    };
  const { certificate_days, certificate_critical_days, ca_days, ca_critical_days } = thresholds;
  const isCa = isAuthority(name);
  return {
    warning: DAY * Math.max(certificate_days, isCa ? ca_days : 0),
    critical: DAY * Math.max(certificate_critical_days, isCa ? ca_critical_days : 0),
  };
}

/** The certificates of the nodes that expire soon. */
function findExpiring({
  fresh,
  certificates,
  clusterMs,
  thresholds,
}: Evidence): readonly Expiring[] {
  return readExpiries(fresh).flatMap((certificate): readonly Expiring[] => {
    const { name, expiry } = certificate;
    const left = expiry - clusterMs / 1000;
    const life = certificates.get(name)?.life;
    const { warning, critical } = renewalLimits(name, life, thresholds);
    // Its life may be a day: then the exporter has not seen a renewal yet, as in CrdbCertificateExpiring.
    const isDoubtful = life === undefined && left > LAST_SECONDS && left < DAY;
    if (left < warning) {
      const level = left < critical && !isDoubtful ? 'critical' : 'warning';
      return [{ ...certificate, left, level }];
    }
    // A short life always ends soon.
    const isShort = life !== undefined && life <= SHORT_SECONDS;
    if (isShort || left >= SOON_SECONDS) return [];
    return [{ ...certificate, left, level: 'info' }];
  });
}

function describe(expiring: readonly Expiring[]) {
  const texts = expiring.map(({ name, left, nodeIds }) => {
    const when = left <= 0 ? 'has expired' : `in ${formatDuration(left)}`;
    return `${name} ${when} (${formatNodes(nodeIds)})`;
  });
  return {
    nodeIds: [...new Set(expiring.flatMap(({ nodeIds }) => nodeIds))],
    text: `Certificates expire: ${formatList(texts)}.`,
  };
}

/** Certificates of the nodes that were not renewed when they should have been, by their life where it is short. */
export const CERTIFICATES: readonly Check[] = [
  {
    key: 'certificates',
    about: 'nodes',
    alert: 'CrdbCertificateExpiring',
    find(evidence) {
      const expiring = findExpiring(evidence).filter(({ level }) => level !== 'info');
      if (expiring.length === 0) return undefined;
      return {
        ...describe(expiring),
        level: expiring.some(({ level }) => level === 'critical') ? 'critical' : undefined,
      };
    },
    next: 'What renews them (cert-manager, the self-signer of the chart, you) has not. Install new files and send SIGHUP to the nodes: after the expiry, nodes and clients can no longer connect.',
  },
  {
    key: 'certificates soon',
    about: 'nodes',
    alert: 'CrdbCertificateExpiring',
    level: 'info',
    find(evidence) {
      const soon = findExpiring(evidence).filter(({ level }) => level === 'info');
      return soon.length === 0 ? undefined : describe(soon);
    },
    next: 'Renew them now if you do it by hand. The charts of Cockroach Labs renew the certificate of a node 7 days before its end, a CA 27 days.',
  },
];

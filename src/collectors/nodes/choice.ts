import type { Choice } from '../../json/shape.ts';
import { NODE_READINGS, STORE_READINGS } from './readings.ts';

export const CERTIFICATE_PREFIX = 'security.certificate.expiration.';
export const LICENSE_KEYS = [
  'seconds_until_license_expiry',
  'seconds_until_enterprise_license_expiry',
] as const;
/** What a slow request of a store waits for. */
export const SLOW_KINDS = ['latch', 'lease', 'raft'] as const;

export function slowKey(kind: string): string {
  return `requests.slow.${kind}`;
}

/** The keys that a user wants to see as they are. */
export interface ChosenKeys extends Choice {
  has(key: string): boolean;
}

/** Reads a list of keys, each exact or a beginning with a trailing `*`. */
export function chooseKeys(patterns: readonly string[]): ChosenKeys {
  const keys = patterns.filter((pattern) => !pattern.endsWith('*'));
  const prefixes = patterns
    .filter((pattern) => pattern.endsWith('*'))
    .map((pattern) => pattern.slice(0, -1));
  const exact = new Set(keys);
  return {
    keys,
    prefixes,
    has: (key) => exact.has(key) || prefixes.some((prefix) => key.startsWith(prefix)),
  };
}

/** What is read of the metrics of a node: what the families need and what the user chose. */
export function wantedOfNode(chosen: ChosenKeys): Choice {
  return {
    keys: [...NODE_READINGS.map(({ key }) => key), ...LICENSE_KEYS, ...chosen.keys],
    prefixes: [CERTIFICATE_PREFIX, ...chosen.prefixes],
  };
}

/** The same of a store. */
export function wantedOfStore(chosen: ChosenKeys): Choice {
  return {
    keys: [...STORE_READINGS.map(({ key }) => key), ...SLOW_KINDS.map(slowKey), ...chosen.keys],
    prefixes: chosen.prefixes,
  };
}

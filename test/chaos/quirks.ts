import type { Simulator } from '../../src/simulator/index.ts';

/** Ways in which the servers may begin to behave, and stop again. */
export const QUIRK_NAMES = [
  'forbidden',
  'tenant',
  'old-tenant',
  'no-proxying',
  'only-https',
  'unencodable-nodes',
  'unencodable-ranges',
  'calls-hang',
  'calls-are-slow',
  'other-header',
  'rate-limit',
  'standby',
] as const;

export type QuirkName = (typeof QUIRK_NAMES)[number];

const SLOW_CALL_MS = 60;
const HEADERS = ['X-Cockroach-API-Session', 'X-Service-API-Session'] as const;

/** Switches one on, or back to what is calm. */
export function setQuirk(
  simulator: Simulator,
  name: QuirkName,
  { isOn, isDocumented }: { readonly isOn: boolean; readonly isDocumented: boolean },
): void {
  const set: Simulator['setQuirk'] = (quirk, value) => simulator.setQuirk(quirk, value);
  switch (name) {
    case 'forbidden':
      return set('forbidden', isOn);
    case 'tenant':
      return set('tenant', isOn ? 'text' : 'no');
    case 'old-tenant':
      return set('tenant', isOn ? 'null' : 'no');
    case 'no-proxying':
      return set('ignoreRemoteNode', isOn || isDocumented);
    case 'only-https':
      return set('redirectToHttps', isOn);
    case 'unencodable-nodes':
      return set('unencodable', isOn ? 'nodes' : 'none');
    case 'unencodable-ranges':
      return set('unencodable', isOn ? 'ranges' : 'none');
    case 'calls-hang':
      return set('deadNode', isOn ? 'hang' : 'at-once');
    case 'calls-are-slow':
      set('deadNodeDelayMs', SLOW_CALL_MS);
      return set('deadNode', isOn ? 'after-delay' : 'at-once');
    case 'other-header':
      return set('sessionHeader', HEADERS[isOn === isDocumented ? 0 : 1]);
    case 'standby':
      return set('defaultVirtualCluster', isOn ? 'system' : 'main');
    case 'rate-limit':
      return set('cloudRateLimit', isOn);
  }
}

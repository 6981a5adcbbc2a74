import type { Simulator } from '../../simulator/index.ts';

type SetQuirk = Simulator['setQuirk'];

const SLOW_CALL_MS = 60;
const HEADERS = ['X-Cockroach-API-Session', 'X-Service-API-Session'] as const;

/** Ways in which the servers may begin to behave, and stop again. */
const QUIRKS: Readonly<Record<string, (set: SetQuirk, isOn: boolean) => void>> = {
  forbidden: (set, isOn) => set('forbidden', isOn),
  tenant: (set, isOn) => set('tenant', isOn ? 'text' : 'no'),
  'old-tenant': (set, isOn) => set('tenant', isOn ? 'null' : 'no'),
  'no-proxying': (set, isOn) => set('ignoreRemoteNode', isOn),
  'only-https': (set, isOn) => set('redirectToHttps', isOn),
  'unencodable-nodes': (set, isOn) => set('unencodable', isOn ? 'nodes' : 'none'),
  'unencodable-ranges': (set, isOn) => set('unencodable', isOn ? 'ranges' : 'none'),
  'calls-hang': (set, isOn) => set('deadNode', isOn ? 'hang' : 'at-once'),
  'calls-are-slow': (set, isOn) => {
    set('deadNodeDelayMs', SLOW_CALL_MS);
    set('deadNode', isOn ? 'after-delay' : 'at-once');
  },
  'other-header': (set, isOn) => set('sessionHeader', HEADERS[isOn ? 1 : 0]),
  'hang-without-system-ranges': (set, isOn) => set('systemRangesLost', isOn ? 'hang' : 'works'),
  'rate-limit': (set, isOn) => set('cloudRateLimit', isOn),
  standby: (set, isOn) => set('defaultVirtualCluster', isOn ? 'system' : 'main'),
};

export const QUIRK_NAMES: readonly string[] = Object.keys(QUIRKS);

/** Switches one on, or back to what is calm. */
export function setQuirk(simulator: Simulator, name: string, isOn: boolean): void {
  QUIRKS[name]?.((quirk, value) => simulator.setQuirk(quirk, value), isOn);
}

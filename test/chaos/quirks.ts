import type { Simulator } from '../../src/simulator/index.ts';

type SetQuirk = Simulator['setQuirk'];

const SLOW_CALL_MS = 60;
const HEADERS = ['X-Cockroach-API-Session', 'X-Service-API-Session'] as const;

/** Ways in which the servers may begin to behave, and stop again. */
const QUIRKS: Readonly<
  Record<string, (set: SetQuirk, isOn: boolean, isDocumented: boolean) => void>
> = {
  forbidden: (set, isOn) => set('forbidden', isOn),
  tenant: (set, isOn) => set('tenant', isOn ? 'text' : 'no'),
  'old-tenant': (set, isOn) => set('tenant', isOn ? 'null' : 'no'),
  'no-proxying': (set, isOn, isDocumented) => set('ignoreRemoteNode', isOn || isDocumented),
  'only-https': (set, isOn) => set('redirectToHttps', isOn),
  'unencodable-nodes': (set, isOn) => set('unencodable', isOn ? 'nodes' : 'none'),
  'unencodable-ranges': (set, isOn) => set('unencodable', isOn ? 'ranges' : 'none'),
  'calls-hang': (set, isOn) => set('deadNode', isOn ? 'hang' : 'at-once'),
  'calls-are-slow': (set, isOn) => {
    set('deadNodeDelayMs', SLOW_CALL_MS);
    set('deadNode', isOn ? 'after-delay' : 'at-once');
  },
  'other-header': (set, isOn, isDocumented) =>
    set('sessionHeader', HEADERS[isOn === isDocumented ? 0 : 1]),
  'rate-limit': (set, isOn) => set('cloudRateLimit', isOn),
  standby: (set, isOn) => set('defaultVirtualCluster', isOn ? 'system' : 'main'),
};

export const QUIRK_NAMES: readonly string[] = Object.keys(QUIRKS);

/** Switches one on, or back to what is calm. */
export function setQuirk(
  simulator: Simulator,
  name: string,
  { isOn, isDocumented }: { readonly isOn: boolean; readonly isDocumented: boolean },
): void {
  QUIRKS[name]?.((quirk, value) => simulator.setQuirk(quirk, value), isOn, isDocumented);
}

import { DEAD, livenessOf } from '../cockroach/node.ts';
import type { NodeStatus } from '../collectors/nodes/collector.ts';
import { formatNodes, plural, toTime } from '../format.ts';
import type { VersionsStatus } from './node-status.ts';

/** Which builds the nodes run that are not gone, the newest first, and whether an upgrade is known to be open. */
export function readVersions(
  nodes: readonly NodeStatus[],
  preserveDowngradeSeconds: number | undefined,
): VersionsStatus {
  const present = nodes.filter((node) => {
    const status = livenessOf(node);
    return !DEAD.has(status) && status !== 'unknown' && node.buildTag !== '';
  });
  const builds = [...Map.groupBy(present, ({ buildTag }) => buildTag)]
    .toSorted(([a], [b]) => (sortKey(a) < sortKey(b) ? 1 : -1))
    .map(([build, members]) => ({
      build,
      nodes: members.map(({ id }) => id),
      lastStartedAt: toTime(
        1000 * Math.max(...members.map(({ startedSeconds }) => startedSeconds)),
      ),
    }));
  const releases = new Set(present.map(({ serverVersion }) => serverVersion));
  const isHeld = preserveDowngradeSeconds !== undefined;
  const left = isHeld || releases.size !== 1 ? [] : findOlderDead(nodes, [...releases][0] ?? '');
  return {
    builds,
    // Nodes do not tell that an upgrade is finalized, only what keeps it open.
    openUpgrade: isHeld
      ? 'held'
      : releases.size > 1
        ? 'nodes'
        : left.length > 0
          ? 'dead'
          : undefined,
    ...(left.length > 0 && { deadWithOlderRelease: left.map(({ id }) => id) }),
  };
}

/**
 * Dead members whose last release is older. The servers finalize nothing while a member is down, whatever settings say, until it
 * runs the new release or is decommissioned. Example: node 4 died under 25.2, the others were upgraded to 25.4 ten days ago.
 * Of a dead member whose decommissioning had begun this is not known: some releases pass over it.
 */
function findOlderDead(nodes: readonly NodeStatus[], release: string): readonly NodeStatus[] {
  return nodes.filter(
    (node) =>
      livenessOf(node) === 'dead' &&
      node.serverVersion !== '' &&
      stepOf(node.serverVersion) < stepOf(release),
  );
}

/** Text that sorts as releases do, the internal steps after a release before the next: `25.4`, `25.4-8`, `26.1`. */
function stepOf(release: string): string {
  return release.replaceAll(/\d+/g, (digits) => digits.padStart(8, '0'));
}

/** What dead members with an older release do to an upgrade. */
export function describeHeldUpgrade(ids: readonly number[]): string {
  const nodes = formatNodes(ids);
  return `the upgrade cannot be finalized while ${nodes}, which last ran an older release, ${plural(ids.length, 'is a dead member', 'are dead members')}`;
}

/** Text that sorts as the numbers of a build do, a release after its candidates: `v25.4.0-rc.1`, `v25.4.0`, `v25.4.10`. */
function sortKey(build: string): string {
  return `${build.replaceAll(/\d+/g, (digits) => digits.padStart(8, '0'))}~`;
}

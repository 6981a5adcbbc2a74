import { DEAD, livenessOf } from '../cockroach/node.ts';
import type { NodeStatus } from '../collectors/nodes/collector.ts';
import { toTime } from '../format.ts';
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
  return {
    builds,
    // Nodes do not tell that an upgrade is finalized, only what keeps it open.
    openUpgrade: isHeld ? 'held' : releases.size > 1 ? 'nodes' : undefined,
  };
}

/** Text that sorts as the numbers of a build do, a release after its candidates: `v25.4.0-rc.1`, `v25.4.0`, `v25.4.10`. */
function sortKey(build: string): string {
  return `${build.replaceAll(/\d+/g, (digits) => digits.padStart(8, '0'))}~`;
}

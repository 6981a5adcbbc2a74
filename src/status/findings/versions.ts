import { formatNodes, plural, toTime } from '#base';
import { ACTIVE, livenessOf } from '#cockroach';
import type { ListedNode } from '#collectors';
import type { VersionsStatus } from './node-status.ts';

/** Which builds the active members run, the newest first, and whether an upgrade is known to be open. */
export function readVersions(
  nodes: readonly ListedNode[],
  preserveDowngradeSeconds: number | undefined,
): VersionsStatus {
  const active = nodes.filter((node) => ACTIVE.has(livenessOf(node)));
  const built = active.filter(({ buildTag }) => buildTag !== '');
  const builds = [...Map.groupBy(built, ({ buildTag }) => buildTag)]
    // A release is after its candidates.
    .toSorted(([a], [b]) => (sortKey(`${a}~`) < sortKey(`${b}~`) ? 1 : -1))
    .map(([build, members]) => ({
      build,
      nodes: members.map(({ id }) => id),
      lastStartedAt: toTime(
        1000 * Math.max(...members.map(({ startedSeconds }) => startedSeconds)),
      ),
    }));
  // The servers wait for a decommissioning node, too.
  const leaving = nodes.filter((node) => livenessOf(node) === 'decommissioning');
  const known = [...active, ...leaving].map(({ serverVersion }) => serverVersion);
  const releases = new Set(known.filter((release) => release !== ''));
  const isHeld = preserveDowngradeSeconds !== undefined;
  const left = releases.size === 1 ? findOlderDead(nodes, [...releases][0] ?? '') : [];
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
function findOlderDead(nodes: readonly ListedNode[], release: string): readonly ListedNode[] {
  return nodes.filter(
    (node) =>
      livenessOf(node) === 'dead' &&
      node.serverVersion !== '' &&
      sortKey(node.serverVersion) < sortKey(release),
  );
}

/** Text that sorts as the numbers in it do: `25.4`, `25.4-8`, `25.10`; with `~` at the end `v25.4.0` is after `v25.4.0-rc.1`. */
function sortKey(version: string): string {
  return version.replaceAll(/\d+/g, (digits) => digits.padStart(8, '0'));
}

/** What dead members with an older release do to an upgrade. */
export function describeHeldUpgrade(ids: readonly number[]): string {
  const nodes = formatNodes(ids);
  return `the upgrade cannot be finalized while ${nodes}, which last ran an older release, ${plural(ids.length, 'is a dead member', 'are dead members')}`;
}

/** What would hold up the upgrade after the setting that holds it now: a setting that no node tells only where nothing else does. */
export function describeFurtherHolds(
  {
    builds,
    deadWithOlderRelease: dead = [],
  }: Pick<VersionsStatus, 'builds' | 'deadWithOlderRelease'> = { builds: [] },
): string {
  if (builds.length > 1) return 'It is finalized once all nodes run the same build.';
  if (dead.length > 0) {
    const it = plural(dead.length, 'it', 'them');
    return `Even then ${describeHeldUpgrade(dead)}: start ${it} with the new one, or decommission ${it}.`;
  }
  return 'If it is not finalized then, see SHOW CLUSTER SETTING cluster.auto_upgrade.enabled: with false it never is, until SET CLUSTER SETTING version.';
}

import {
  capitalize,
  formatCount,
  formatDuration,
  formatList,
  formatNodes,
  formatPercent,
  plural,
  sum,
  toTime,
} from '#base';
import { INSPECT_ISSUES, licenseExpiryOf } from '#collectors';
import { CERTIFICATES } from './certificates.ts';
import { type Check, describePlaces } from './check.ts';
import type { Evidence } from './evidence.ts';
import { describeFurtherHolds } from './versions.ts';

const DAY = 86_400;

const RESET_DOWNGRADE =
  'It may be longer: nodes count anew when they start. When the new version works, RESET CLUSTER SETTING cluster.preserve_downgrade_option.';

/** The checks of the nodes together, of jobs, backups and an open upgrade. */
export const CLUSTER_CHECKS: readonly Check[] = [
  {
    key: 'license',
    about: 'nodes',
    alert: 'CrdbLicenseExpiring',
    find({ fresh, nowMs, thresholds }) {
      const expiry = Math.min(...fresh.flatMap((node) => licenseExpiryOf(node) ?? []));
      const days = (expiry - nowMs / 1000) / DAY;
      if (days >= thresholds.license_days) return undefined;
      const isCritical = days < thresholds.license_critical_days;
      const limit = isCritical ? thresholds.license_critical_days : thresholds.license_days;
      const expires = `expires in ${formatDuration(days * DAY)}`;
      return {
        level: isCritical ? 'critical' : undefined,
        text: `The license ${days <= 0 ? 'has expired' : expires}.`,
        since: toTime((expiry - limit * DAY) * 1000),
      };
    },
    next: 'Renew it with SET CLUSTER SETTING enterprise.license. With a free or trial license the cluster throttles transactions after the grace period; with a paid one it does not.',
  },
  {
    key: 'no license',
    about: 'nodes',
    alert: 'CrdbLicenseMissing',
    // A cluster of one node needs none.
    find({ fresh }) {
      const known = fresh.flatMap(
        ({ metrics }) => metrics.get('seconds_until_license_expiry') ?? [],
      );
      const isMissing = known.length > 1 && known.every((seconds) => seconds === 0);
      return isMissing ? 'The cluster has no license.' : undefined;
    },
    next: 'From 24.3 on a cluster of several nodes needs one: 7 days after its start, or 30 after the upgrade, each node refuses transactions while 5 are open. SET CLUSTER SETTING enterprise.license.',
  },
  ...CERTIFICATES,
  {
    key: 'full stores',
    about: 'nodes',
    alert: 'CrdbStoreDiskLow',
    find: findFullStores,
    next: 'Add disk space or nodes: a node with a full disk stops.',
  },
  {
    key: 'capacity',
    about: 'nodes',
    alert: 'CrdbClusterCapacity',
    find: findScarceCapacity,
    next: 'Add nodes or disk space.',
  },
  {
    about: 'jobs',
    alert: 'CrdbJobPaused',
    find: findPaused,
    next: 'Resume or cancel them; see SHOW JOBS.',
  },
  ...(['physical', 'logical'] as const).map((kind): Check => ({
    key: `${kind} lag`,
    about: 'jobs',
    alert: 'CrdbReplicationLag',
    find({ jobs, thresholds }) {
      const seconds = jobs.lagSeconds[kind] ?? 0;
      if (seconds <= thresholds.replication_lag) return undefined;
      return `The ${kind} replication into this cluster is ${formatDuration(seconds)} behind.`;
    },
    next: 'Check the job, the source cluster and the network between the two.',
  })),
  ...(['physical', 'logical'] as const).map((kind): Check => ({
    key: `${kind} lag unknown`,
    about: 'jobs',
    alert: 'CrdbReplicationLag',
    // The alert looks at 4 hours: the first copy of a database has no lag yet.
    level: 'info',
    find({ jobs }) {
      const reason = jobs.lagUnknown[kind];
      if (reason === undefined) return undefined;
      const why =
        reason === 'nothing'
          ? 'it has replicated nothing yet'
          : 'no current record of a node has it';
      return `The ${kind} replication into this cluster runs, and its lag is not known: ${why}.`;
    },
    next: 'A first copy of all data has no lag yet. Else see SHOW VIRTUAL CLUSTERS WITH REPLICATION STATUS (physical) or SHOW LOGICAL REPLICATION JOBS (logical): newer releases may have moved the figure.',
  })),
  {
    key: 'backup',
    about: 'jobs',
    alert: 'CrdbBackupTooOld',
    find({ lastBackupSeconds, nowMs, thresholds }) {
      const age = nowMs / 1000 - lastBackupSeconds;
      const limit = thresholds.backup_hours * 3600;
      if (lastBackupSeconds === 0 || age <= limit) return undefined;
      return {
        text: `The last scheduled backup ended ${formatDuration(age)} ago.`,
        since: toTime((lastBackupSeconds + limit) * 1000),
      };
    },
    next: 'See SHOW SCHEDULES and SHOW JOBS.',
  },
  {
    key: 'kms',
    about: 'jobs',
    alert: 'CrdbBackupKmsInaccessible',
    find({ jobs: { kmsInaccessibleSeconds: failed }, lastBackupSeconds, nowMs }) {
      if (failed === undefined || lastBackupSeconds >= failed) return undefined;
      const ago = formatDuration(Math.max(0, nowMs / 1000 - failed));
      return {
        text: `A backup failed ${ago} ago because its KMS was out of reach, and no scheduled one is known to have ended since.`,
        since: toTime(failed * 1000),
      };
    },
    next: 'Check the key, the credentials and the network to the KMS from every node: without the key old backups cannot be read either.',
  },
  {
    about: 'jobs',
    alert: 'CrdbDataInconsistent',
    find({ fresh }) {
      const found = fresh.filter(({ metrics }) => (metrics.get(INSPECT_ISSUES) ?? 0) > 0);
      if (found.length === 0) return undefined;
      const issues = sum(found.map(({ metrics }) => metrics.get(INSPECT_ISSUES) ?? 0));
      return {
        nodeIds: found.map(({ id }) => id),
        text: `INSPECT has found ${formatCount(issues)} ${plural(issues, 'issue', 'issues')} since ${formatNodes(found.map(({ id }) => id))} started: data is inconsistent.`,
      };
    },
    next: 'crdb-exporter jobs --failed names the job: SHOW INSPECT ERRORS FOR JOB id WITH DETAILS lists what it found. Change nothing by hand before support has seen it.',
  },
  {
    key: 'upgrade',
    about: 'nodes',
    alert: 'CrdbUpgradeNotFinalized',
    find({ jobs: { preserveDowngradeSeconds = Infinity }, nowMs, thresholds, view }) {
      const age = nowMs / 1000 - preserveDowngradeSeconds;
      const limit = thresholds.finalize_days * DAY;
      if (age <= limit) return undefined;
      return {
        text: `The upgrade has not been finalized for ${formatDuration(age)}.`,
        since: toTime((preserveDowngradeSeconds + limit) * 1000),
        next: `${RESET_DOWNGRADE} ${describeFurtherHolds(view.nodes?.versions)}`,
      };
    },
    next: RESET_DOWNGRADE,
  },
  {
    about: 'exporter',
    alert: 'CrdbNodeKeysMissing',
    find: ({ missingKeys }) => describeMissingKeys(missingKeys),
    next: 'What they are read for is not known: see the runbook for the families. After an upgrade the release may have renamed or moved them; keys of collectors.nodes.metrics: correct or remove them.',
  },
];

function describeMissingKeys(keys: readonly string[]): string | undefined {
  if (keys.length === 0) return undefined;
  const metrics = plural(keys.length, '1 metric that is', `${keys.length} metrics that are`);
  return `No node sends ${metrics} read: ${formatList(keys)}.`;
}

/** Stores with little free space: critical below a tenth, and below 5 GiB unless 30 percent are free. */
function findFullStores({ fresh, thresholds }: Evidence) {
  const low = fresh.flatMap(({ id: nodeId, stores }) =>
    [...stores].flatMap(([storeId, store]) => {
      const available = store.get('capacity.available') ?? NaN;
      const free = available / (store.get('capacity') ?? NaN);
      const isScarce = free < 3 * thresholds.disk_critical && available < thresholds.disk_floor;
      const isCritical = isScarce || free < thresholds.disk_critical;
      return isCritical || free < thresholds.disk ? [{ nodeId, storeId, free, isCritical }] : [];
    }),
  );
  if (low.length === 0) return undefined;
  const { nodeIds, text } = describePlaces(low);
  const least = formatPercent(Math.min(...low.map(({ free }) => free)));
  return {
    nodeIds,
    level: low.some(({ isCritical }) => isCritical) ? ('critical' as const) : undefined,
    text: `${capitalize(text)}: ${least} of the disk is free${plural(low.length, '', ' on the fullest')}.`,
  };
}

/** Free space of the others once they hold the data of the largest node; three nodes cannot take over those of a fourth. */
function findScarceCapacity({ fresh, thresholds }: Evidence): string | undefined {
  const sizes = fresh
    .map(({ stores }) => {
      const list = [...stores.values()];
      const total = (key: string) => sum(list.map((store) => store.get(key) ?? 0));
      return { capacity: total('capacity'), available: total('capacity.available') };
    })
    .filter(({ capacity }) => capacity > 0);
  if (sizes.length <= 3) return undefined;
  const largest = Math.max(...sizes.map(({ capacity }) => capacity));
  const available = sum(sizes.map((size) => size.available));
  const free = (available - largest) / (sum(sizes.map((size) => size.capacity)) - largest);
  if (free >= thresholds.capacity) return undefined;
  return `Without the largest node the others would be full but for ${formatPercent(Math.max(0, free))}.`;
}

/** Paused jobs that keep old data; consumers of a changefeed get no changes. */
function findPaused({ jobs: { jobs }, thresholds }: Evidence): ReturnType<Check['find']> {
  const paused = jobs.flatMap(({ type, paused: count = 0, protectedAgeSeconds: age = 0 }) =>
    count > 0 && age > thresholds.protected_age ? [{ type, age }] : [],
  );
  if (paused.length === 0) return undefined;
  const age = formatDuration(Math.max(...paused.map((job) => job.age)));
  const text = `Paused jobs (${formatList(paused.map(({ type }) => type))}) keep data that is ${age} old.`;
  if (!paused.some(({ type }) => type === 'changefeed')) return text;
  return {
    text,
    level: 'critical',
    next: 'Resume or cancel them; see SHOW CHANGEFEED JOBS. Consumers get no changes, and disks fill.',
  };
}

import { formatCount, formatDuration, formatList, formatNodes, plural, sum, toTime } from '#base';
import { CERTIFICATES } from './certificates.ts';
import type { Check } from './check.ts';

/** Counts what a job of INSPECT finds. */
const INSPECT_ISSUES = 'jobs.inspect.issues_found';

/** Conditions of the nodes together and of their jobs that are more than one figure over a limit. */
export const CLUSTER_CHECKS: readonly Check[] = [
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
      return isMissing ? { text: 'The cluster has no license.' } : undefined;
    },
    next: 'From 24.3 on a cluster of several nodes needs one: 7 days after its start, or 30 after the upgrade, each node refuses transactions while 5 are open. SET CLUSTER SETTING enterprise.license.',
  },
  ...CERTIFICATES,
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
      return {
        text: `The ${kind} replication into this cluster runs, and its lag is not known: ${why}.`,
      };
    },
    next: 'A first copy of all data has no lag yet. Else see SHOW VIRTUAL CLUSTERS WITH REPLICATION STATUS (physical) or SHOW LOGICAL REPLICATION JOBS (logical): newer releases may have moved the figure.',
  })),
  {
    key: 'kms',
    about: 'jobs',
    alert: 'CrdbBackupKmsInaccessible',
    find({ jobs: { kmsInaccessibleSeconds: failed }, lastBackupSeconds, clusterMs }) {
      if (failed === undefined || lastBackupSeconds >= failed) return undefined;
      const ago = formatDuration(Math.max(0, clusterMs / 1000 - failed));
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
    about: 'exporter',
    alert: 'CrdbNodeKeysMissing',
    find({ missingKeys: keys }) {
      if (keys.length === 0) return undefined;
      const metrics = plural(keys.length, '1 metric that is', `${keys.length} metrics that are`);
      return { text: `No node sends ${metrics} read: ${formatList(keys)}.` };
    },
    next: 'What they are read for is not known: see the runbook for the families. After an upgrade the release may have renamed or moved them; keys of collectors.nodes.metrics: correct or remove them.',
  },
];

import { describe, expect, test } from 'vitest';
import { nodes } from '../../../src/collectors/nodes.ts';
import { NOW_NS, pollNodes, recordOf } from './records.ts';

const LAST_BACKUP = 'schedules.BACKUP.last-completed-time';
const STALE = { updated_at: NOW_NS - 600e9 };

describe('jobs', () => {
  test('running ones are summed over the nodes, paused ones are those of the node that reports most', async () => {
    const { of } = await pollNodes([
      recordOf(1, {
        metrics: {
          'jobs.changefeed.currently_running': 2,
          'jobs.changefeed.currently_paused': 3,
          'jobs.schema_change.currently_paused': 1,
          'jobs.new_schema_change.currently_paused': 0,
        },
      }),
      recordOf(2, {
        metrics: {
          'jobs.changefeed.currently_running': 1,
          'jobs.changefeed.currently_paused': 0,
          'jobs.schema_change.currently_running': 1,
          'jobs.new_schema_change.currently_running': 4,
          'jobs.new_schema_change.currently_paused': 2,
        },
      }),
    ]);
    expect(of('crdb_jobs')).toEqual([
      '{job="changefeed",state="running"} 3',
      '{job="changefeed",state="paused"} 3',
      '{job="schema_change",state="running"} 5',
      '{job="schema_change",state="paused"} 3',
    ]);
  });

  test('of every type are counted', async () => {
    const names = ['backup', 'changefeed', 'import', 'restore', 'row_level_ttl'];
    const all = [...names, 'schema_change', 'logical_replication'];
    const metrics = Object.fromEntries(
      all.flatMap((name, at) => [
        [`jobs.${name}.currently_running`, at],
        [`jobs.${name}.currently_paused`, 10 + at],
        [`jobs.${name}.protected_age_sec`, 20 + at],
      ]),
    );
    const { of } = await pollNodes([recordOf(1, { metrics })]);
    expect(of('crdb_jobs')).toEqual(
      all.flatMap((job, at) => [
        `{job="${job}",state="running"} ${at}`,
        `{job="${job}",state="paused"} ${10 + at}`,
      ]),
    );
    expect(of('crdb_protected_timestamp_age_seconds')).toEqual(
      all.map((job, at) => `{job="${job}"} ${20 + at}`),
    );
  });

  test('the protected timestamp is the oldest that a node reports; 0 is nothing protected', async () => {
    const { of } = await pollNodes([
      recordOf(1, {
        metrics: { 'jobs.backup.protected_age_sec': 0, 'jobs.changefeed.protected_age_sec': 0 },
      }),
      recordOf(2, { metrics: { 'jobs.changefeed.protected_age_sec': 7200 } }),
    ]);
    expect(of('crdb_protected_timestamp_age_seconds')).toEqual([
      '{job="backup"} 0',
      '{job="changefeed"} 7200',
    ]);
  });

  test('of a node with a stale record are not counted', async () => {
    const metrics = {
      'jobs.backup.currently_running': 1,
      'jobs.backup.protected_age_sec': 9,
      'cluster.preserve-downgrade-option.last-updated': 1_700_000_000,
    };
    const { lines } = await pollNodes([recordOf(1), recordOf(2, { metrics, ...STALE })]);
    expect(lines.filter((line) => /jobs|protected|preserve/.test(line))).toEqual([]);
  });
});

describe('the last backup', () => {
  const family = 'crdb_backup_last_completed_timestamp_seconds';

  test('is the latest that any node reports, a dead one included', async () => {
    const { of } = await pollNodes([
      recordOf(1, { metrics: { [LAST_BACKUP]: 0 } }),
      recordOf(2, { metrics: { [LAST_BACKUP]: 1_700_000_000 }, liveness_status: 1, ...STALE }),
      recordOf(3, { metrics: { [LAST_BACKUP]: 1_600_000_000 } }),
    ]);
    expect(of(family)).toEqual(['1700000000']);
  });

  test('is absent while no node reports one', async () => {
    const { of } = await pollNodes([recordOf(1, { metrics: { [LAST_BACKUP]: 0 } }), recordOf(2)]);
    expect(of(family)).toEqual([]);
  });

  test('is remembered when the node that ran it restarts', async () => {
    const state = nodes.createState();
    await pollNodes([recordOf(1, { metrics: { [LAST_BACKUP]: 1_700_000_000 } })], { state });
    const { of } = await pollNodes([recordOf(1, { metrics: { [LAST_BACKUP]: 0 } })], { state });
    expect(of(family)).toEqual(['1700000000']);
  });
});

test.each([
  [1_700_000_000, ['1700000000']],
  [0, []],
])('an upgrade that is put off since %s', async (time, expected) => {
  const metrics = { 'cluster.preserve-downgrade-option.last-updated': time };
  const { of } = await pollNodes([recordOf(1, { metrics }), recordOf(2)]);
  expect(of('crdb_preserve_downgrade_option_updated_timestamp_seconds')).toEqual(expected);
});

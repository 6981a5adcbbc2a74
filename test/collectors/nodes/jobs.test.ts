import { describe, expect, test } from 'vitest';
import { nodes } from '../../../src/collectors/nodes/collector.ts';
import { NOW_MS, NOW_NS, pollNodes, recordOf } from './records.ts';

const LAST_BACKUP = 'schedules.BACKUP.last-completed-time';
/** What is exported of jobs and of what they protect. */
async function jobsOf(...records: readonly unknown[]): Promise<readonly string[]> {
  const { of } = await pollNodes(records);
  return [...of('crdb_jobs'), ...of('crdb_protected_timestamp_age_seconds')];
}

/** The same of paused jobs, poll by poll: each begins this many seconds later and finds these records. */
async function pausedAt(polls: readonly (readonly [seconds: number, ...object[]])[]) {
  const state = nodes.createState();
  const found: (readonly string[])[] = [];
  for (const [seconds, ...records] of polls) {
    const updated_at = NOW_NS + seconds * 1e9;
    const all = records.map((record, at) => recordOf(at + 1, { updated_at, ...record }));
    const { of } = await pollNodes(all, { state, dateMs: NOW_MS + seconds * 1000 });
    const jobs = of('crdb_jobs').filter((line) => line.includes('paused'));
    found.push([...jobs, ...of('crdb_protected_timestamp_age_seconds')]);
  }
  return found;
}

/** Lags when nodes report these metrics. */
async function lagsOf(...metrics: readonly object[]): Promise<readonly string[]> {
  const records = metrics.map((one, at) => recordOf(at + 1, { metrics: one }));
  return (await pollNodes(records)).of('crdb_replication_lag_seconds');
}

const STALE = { updated_at: NOW_NS - 600e9 };

describe('jobs', () => {
  test('running ones are summed over the nodes, paused ones are the most where no node runs the statistics', async () => {
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
      '{job_type="changefeed",state="running"} 3',
      '{job_type="changefeed",state="paused"} 3',
      '{job_type="schema_change",state="running"} 5',
      '{job_type="schema_change",state="paused"} 3',
    ]);
  });

  test.each([
    ['live', 3, []],
    ['draining', 6, []],
    ['dead', 1, ['{job_type="backup",state="running"} 0']],
  ])(
    'how many run is not known while the record of a node is stale that is up (%s)',
    async (_name, liveness_status, expected) => {
      const { of } = await pollNodes([
        recordOf(1, { metrics: { 'jobs.backup.currently_running': 0 } }),
        recordOf(2, {
          metrics: { 'jobs.backup.currently_running': 1 },
          liveness_status,
          ...STALE,
        }),
      ]);
      expect(of('crdb_jobs')).toEqual(expected);
    },
  );

  test('of every type are counted', async () => {
    const names = ['backup', 'changefeed', 'import', 'restore', 'row_level_ttl'];
    const all = [
      ...names,
      'schema_change',
      'logical_replication',
      'replication_stream_ingestion',
      'inspect',
    ];
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
        `{job_type="${job}",state="running"} ${at}`,
        `{job_type="${job}",state="paused"} ${10 + at}`,
      ]),
    );
    expect(of('crdb_protected_timestamp_age_seconds')).toEqual(
      all.map((job, at) => `{job_type="${job}"} ${20 + at}`),
    );
  });
});

const STATISTICS = 'jobs.poll_jobs_stats.currently_running';

describe('paused jobs and protected data', () => {
  const former = {
    'jobs.backup.currently_paused': 3,
    'jobs.backup.protected_age_sec': 7200,
    'jobs.backup.currently_running': 1,
    [STATISTICS]: 0,
  };
  const present = {
    'jobs.backup.currently_paused': 1,
    'jobs.backup.protected_age_sec': 5,
    'jobs.backup.currently_running': 1,
    [STATISTICS]: 1,
  };
  const running = '{job_type="backup",state="running"} 2';

  test('are those of the node that runs the statistics, not of a former one', async () => {
    expect(
      await jobsOf(recordOf(1, { metrics: former }), recordOf(2, { metrics: present })),
    ).toEqual([running, '{job_type="backup",state="paused"} 1', '{job_type="backup"} 5']);
  });

  test.each([
    ['nobody runs them', { metrics: { ...present, [STATISTICS]: 0 } }, [running]],
    ['the record of that node is stale', { metrics: present, ...STALE }, []],
    [
      'that node is dead',
      { metrics: present, liveness_status: 1 },
      ['{job_type="backup",state="running"} 1'],
    ],
  ])('are absent when %s', async (_why, of, others) => {
    const seen = await jobsOf(recordOf(1, { metrics: former }), recordOf(2, of));
    expect(seen).toEqual(others);
  });

  // A node waits for 30 s before it counts: until then it has zeros, or what it counted when it last ran the statistics.
  const zeros = { 'jobs.backup.currently_paused': 0, 'jobs.backup.protected_age_sec': 0 };
  const known = ['{job_type="backup",state="paused"} 1', '{job_type="backup"} 5'];

  test('are absent until a node that takes the statistics over has counted', async () => {
    const runs = { metrics: { ...present } };
    const ended = { metrics: { ...present, [STATISTICS]: 0 } };
    const begins = { metrics: { ...zeros, [STATISTICS]: 1 } };
    const found = await pausedAt([
      [0, runs, { metrics: { ...zeros, [STATISTICS]: 0 } }],
      [30, ended, begins],
      [60, ended, begins],
      [90, ended, runs],
    ]);
    expect(found).toEqual([known, [], [], known]);
  });

  test('are there again soon after the clock of a node was ahead', async () => {
    const ended = { metrics: { ...present, [STATISTICS]: 0 } };
    const runs = { metrics: present };
    const found = await pausedAt([
      [0, runs, ended],
      [30, ended, { ...runs, updated_at: NOW_NS + 3_600e9 }],
      [60, ended, runs],
      [100, ended, runs],
    ]);
    expect(found).toEqual([known, [], [], known]);
  });

  test('are absent until a node that restarts has counted, also for a new exporter', async () => {
    const started_at = NOW_NS + 20e9;
    const restarted = { started_at, metrics: { ...zeros, [STATISTICS]: 1 } };
    const counted = { started_at, metrics: present };
    const afterwards = [
      [30, restarted],
      [59, restarted],
      [90, counted],
    ] as const;
    expect(await pausedAt(afterwards)).toEqual([[], [], known]);
    expect(await pausedAt([[0, { metrics: present }], ...afterwards])).toEqual([
      known,
      [],
      [],
      known,
    ]);
  });
});

describe('replication lag', () => {
  const time = NOW_MS / 1000 - 5;
  const PHYSICAL = 'physical_replication.replicated_time_seconds';
  const LOGICAL = 'logical_replication.replicated_time_seconds';
  const RUNS = 'jobs.replication_stream_ingestion.currently_running';

  test('is that of the newest time, wherever the job ran before', async () => {
    const former = { [PHYSICAL]: time - 90_000, [RUNS]: 0 };
    const present = { [PHYSICAL]: time - 30, [RUNS]: 1 };
    expect(await lagsOf(former, present, { [PHYSICAL]: 0 })).toEqual(['{kind="physical"} 30']);
  });

  test('is absent when the job has ended, although a node keeps its time', async () => {
    const metrics = {
      [PHYSICAL]: time - 900,
      [RUNS]: 0,
      'jobs.replication_stream_ingestion.currently_paused': 0,
      [STATISTICS]: 1,
    };
    expect(await lagsOf(metrics)).toEqual([]);
  });

  test('is there for a job that is paused, unless only a former node says so', async () => {
    const paused = { 'jobs.logical_replication.currently_paused': 1, [LOGICAL]: time - 7200 };
    const counting = { [STATISTICS]: 1, 'jobs.logical_replication.currently_paused': 0 };
    expect(await lagsOf({ ...paused, [STATISTICS]: 1 })).toEqual(['{kind="logical"} 7200']);
    expect(await lagsOf({ ...paused, [STATISTICS]: 0 }, counting)).toEqual([]);
  });

  test('of logical jobs is that of the node with the statistics, not the smallest', async () => {
    // Node 2 ran the statistics until an hour ago, when its jobs were 5 s behind; node 1 knows that one is 2 h behind.
    const runs = { 'jobs.logical_replication.currently_running': 1 };
    const present = { ...runs, [LOGICAL]: time - 7200, [STATISTICS]: 1 };
    const former = { ...runs, [LOGICAL]: time - 5, [STATISTICS]: 0 };
    expect(await lagsOf(present, former)).toEqual(['{kind="logical"} 7200']);
  });

  test('does not count a stale record', async () => {
    const record = { updated_at: NOW_NS - 600e9, metrics: { [PHYSICAL]: time, [RUNS]: 1 } };
    const { of } = await pollNodes([recordOf(1), recordOf(2, record)]);
    expect(of('crdb_replication_lag_seconds')).toEqual([]);
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

  test('is remembered when the node that ran it restarts', async () => {
    const state = nodes.createState();
    await pollNodes([recordOf(1, { metrics: { [LAST_BACKUP]: 1_700_000_000 } })], { state });
    const { of } = await pollNodes([recordOf(1, { metrics: { [LAST_BACKUP]: 0 } })], { state });
    expect(of(family)).toEqual(['1700000000']);
  });

  test('is not in the future, by whatever clock it was, and is not remembered so', async () => {
    const state = nodes.createState();
    const poll = async (dateMs: number, ...times: readonly number[]) => {
      const updated_at = dateMs * 1e6 - 5e9;
      const records = times.map((time, at) =>
        recordOf(at + 1, { updated_at, metrics: { [LAST_BACKUP]: time } }),
      );
      return (await pollNodes(records, { state, dateMs })).of(family);
    };
    const tomorrow = NOW_MS / 1000 + 86_400;
    expect(await poll(NOW_MS, 1_700_000_000, tomorrow, 0)).toEqual(['1700000000']);
    // The clock of the node that answers is a day ahead, then right.
    expect(await poll(tomorrow * 1000, tomorrow)).toEqual([String(tomorrow)]);
    expect(await poll(NOW_MS, 1_700_000_000)).toEqual(['1700000000']);
  });
});

test.each([
  [[0, 0], []],
  [[1_700_000_000, 1_700_000_900, undefined], ['1700000900']],
])('a KMS was last out of reach of a backup at the largest time: %o', async (times, expected) => {
  const key = 'backup.last-failed-time.kms-inaccessible';
  const records = times.map((time, at) => recordOf(at + 1, { metrics: { [key]: time } }));
  const stale = recordOf(9, { metrics: { [key]: 1_800_000_000 }, ...STALE });
  const { of } = await pollNodes([...records, stale]);
  expect(of('crdb_backup_kms_inaccessible_timestamp_seconds')).toEqual(expected);
});

describe('an upgrade that is put off', () => {
  test.each([
    [[1_700_000_000, undefined], ['1700000000']],
    [[0, 0], []],
    // Node 2 restarted since, and loaded the setting again.
    [[1_700_000_000, 1_702_000_000], ['1700000000']],
    [[0, 1_702_000_000], ['1702000000']],
  ])('is so since the smallest time above 0: %o', async (times, expected) => {
    const key = 'cluster.preserve-downgrade-option.last-updated';
    const records = times.map((time, at) => recordOf(at + 1, { metrics: { [key]: time } }));
    const { of } = await pollNodes(records);
    expect(of('crdb_preserve_downgrade_option_updated_timestamp_seconds')).toEqual(expected);
  });
});

test('jobs that failed are counted by node and type, both names of schema changes together', async () => {
  const failed = {
    'jobs.backup.resume_failed': 2,
    'jobs.schema_change.resume_failed': 3,
    'jobs.new_schema_change.resume_failed': 4,
    'jobs.auto_create_stats.resume_failed': 9,
  };
  const { of } = await pollNodes([
    recordOf(1, { metrics: failed }),
    recordOf(2, { metrics: { 'jobs.restore.resume_failed': 0 } }),
    recordOf(3, { metrics: failed, ...STALE }),
  ]);
  expect(of('crdb_node_job_failures_total')).toEqual([
    '{node_id="1",job_type="backup"} 2',
    '{node_id="1",job_type="schema_change"} 7',
    '{node_id="2",job_type="restore"} 0',
  ]);
});

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ALL_VALUES, fillVariables, PANELS } from '../../dashboards/panels.ts';
import { hasProgram } from '../../support/programs.ts';
import type { AlertNotification } from './alertmanager.ts';
import { EXPECTED_EMPTY, OPTIONALLY_EMPTY } from './empty-panels.ts';
import { openPages, runScenario, type ScenarioRun } from './scenario.ts';

/** For two runs on a machine that is eight times slower than an idle one: the first is repeated when it stalled. */
const SCENARIO_TIMEOUT_MS = 3_000_000;

/** Notifications of the incident, by receiver, alert and subject, with the cause. */
const EXPECTED: Readonly<Record<string, string>> = {
  'team CrdbNodeUnavailable 5': 'n5 misses its heartbeats, alone, for longer than three minutes',
  'team CrdbNodeDead 5': 'n5 does not come back and counts as dead',
  'page CrdbMultipleNodesDown': 'n4 goes down, too, while n5 is dead',
  'page CrdbRangesUnavailable unavailable':
    'ranges with replicas on n4 and n5 have no quorum, one with a tripped breaker also after n4 is back',
  'page CrdbRangesLost': 'the only replica of a range is on n4',
  'notes CrdbHotRange': 'a range has more load than should split it',
  'team CrdbTransactionTooOld leaky-service': 'an application leaves transactions open',
  'team CrdbMigrationAssistantFailing': 'the first provisioning fails',
  'watchdog CrdbWatchdog': 'it always fires',
  'team CrdbSessionStorm': 'a thousand sessions of new applications',
  'team CrdbBackupTooOld': 'no backup has ended for 30 hours',
  'team CrdbJobPaused': 'a changefeed is paused and protects old data',
  'page CrdbJobPaused': 'the paused job is a changefeed, which loses changes',
  'team CrdbReplicationLag': 'replication from another cluster stops',
  'notes CrdbPurgatory': 'replicas of n1 find no store',
  'team CrdbPartitionSuspected': 'n2 and n3 do not reach each other',
};

/** Alerts that Alertmanager inhibits. */
const INHIBITED = ['CrdbNodeUnavailable 4'];
/**
 * A range has no lease. Whether the page for it is inhibited depends on the second in which others lose their quorum: it pages or is
 * inhibited by their page, and fires in any case.
 */
const PAGED_OR_INHIBITED = 'CrdbRangesWithoutLease';
/** Inhibited alerts that fire on slow machines only: the node is down for three seconds less than the scaled hour of the alert. */
const OPTIONALLY_INHIBITED = ['CrdbRangesUnderreplicated underreplicated'];

/** Alerts in the order of their notifications. */
const ORDER = [
  ['CrdbNodeUnavailable', 'CrdbNodeDead', 'CrdbMultipleNodesDown', 'CrdbRangesUnavailable'],
  ['CrdbTransactionTooOld', 'CrdbHotRange'],
];

function subjectOf(labels: Readonly<Record<string, string>>): string {
  const { alertname, node_id, problem, application } = labels;
  return [alertname, node_id ?? problem ?? application].filter(Boolean).join(' ');
}

function variablesAt(pace: number): Readonly<Record<string, string>> {
  return {
    ...ALL_VALUES,
    __rate_interval: `${10 * pace}s`,
    __range: `${120 * pace}s`,
    __interval: `${pace}s`,
    cluster: 'incident',
  };
}

interface RangeResponse {
  readonly result: readonly {
    readonly values: readonly (readonly [at: number, value: string])[];
  }[];
}

const hasAll = hasProgram('prometheus') && hasProgram('prometheus-alertmanager');

describe.skipIf(!hasAll)('incident and calm scenarios with real programs', () => {
  let run: ScenarioRun;
  let firing: readonly AlertNotification[];

  beforeAll(async () => {
    run = await runScenario();
    firing = run.notifications.filter(({ status }) => status === 'firing');
  }, SCENARIO_TIMEOUT_MS);
  afterAll(() => run[Symbol.asyncDispose]());

  test('notify exactly the expected receivers', () => {
    const notified = new Set(
      firing.map(({ receiver, labels }) => `${receiver} ${subjectOf(labels)}`),
    );
    notified.delete(`page ${PAGED_OR_INHIBITED}`);
    expect([...notified].toSorted()).toEqual(Object.keys(EXPECTED).toSorted());
  });

  test('inhibit alerts that another alert explains', async () => {
    const all = await run.prometheus.query(
      'count by (alertname, node_id, problem, application) (max_over_time(ALERTS{alertstate="firing"}[1h]))',
    );
    const notified = new Set(firing.map(({ labels }) => subjectOf(labels)));
    const silent = all.map(({ labels }) => subjectOf(labels)).filter((one) => !notified.has(one));
    expect([...notified, ...silent].filter((one) => one === PAGED_OR_INHIBITED)).toHaveLength(1);
    const others = silent.filter((one) => one !== PAGED_OR_INHIBITED);
    expect(others.filter((one) => !OPTIONALLY_INHIBITED.includes(one))).toEqual(INHIBITED);
  });

  test('notify of causes before consequences', () => {
    const names = firing.map(({ labels }) => labels['alertname']);
    for (const chain of ORDER) {
      const places = chain.map((name) => names.indexOf(name));
      expect(places).toEqual(places.toSorted((a, b) => a - b));
    }
  });

  test('resolve all alerts in the end', async () => {
    expect(
      await run.prometheus.query('ALERTS{alertstate="firing",alertname!="CrdbWatchdog"}'),
    ).toEqual([]);
    expect(openPages(run.notifications)).toEqual([]);
  });

  test('render readable annotations', () => {
    for (const { annotations } of firing) {
      const text = `${annotations['summary']} ${annotations['description']}`;
      expect(text).not.toMatch(/<no value>|<error|%!|\{\{|\}\}/);
      expect(text).toMatch(/incident|Alertmanager/);
    }
    const page = firing.find(({ labels }) => labels['alertname'] === 'CrdbRangesUnavailable');
    expect(page?.annotations['description']).toMatch(
      /^Reads and writes of these keys hang or fail, unless only a node without the lease says so: crdb-exporter ranges --problems shows it\. Longest: (?:r\d+(?: of \w+\.\w+\.\w+)? \(reported by n\d\)(?:, |\. )){3}Nodes down, but live within the last hour: n4(?:, n5; not seen live in it: none|; not seen live in it: n5)\. Start the nodes that are down; do not decommission them and do not wipe their disks\.$/,
    );
  });

  test('fire no alert for the calm cluster', async () => {
    expect(
      firing.filter(({ labels }) => !['incident', undefined].includes(labels['crdb_cluster'])),
    ).toEqual([]);
    expect(
      await run.prometheus.query(
        'max_over_time(ALERTS{alertstate="firing", crdb_cluster="calm"}[1h])',
      ),
    ).toEqual([]);
  });

  test('fill every panel except the expected empty ones', { timeout: 600_000 }, async () => {
    const end = Date.now() / 1000;
    let queried = 0;
    const empty: string[] = [];
    for (const { title, queries } of PANELS) {
      for (const { refId, expr } of queries) {
        const scaled = expr.replaceAll(' offset 1h', ` offset ${run.pace}m`);
        const query = encodeURIComponent(fillVariables(scaled, variablesAt(run.pace)));
        const { result } = await run.prometheus.api<RangeResponse>(
          `/api/v1/query_range?query=${query}&start=${run.startedAt}&end=${end}&step=${2 * run.pace}`,
        );
        queried += 1;
        const values = result.flatMap((series) => series.values.map(([, value]) => value));
        if (values.every((value) => value === 'NaN')) empty.push(`${title} ${refId}`);
      }
    }
    expect(queried).toBeGreaterThan(150);
    const unexpected = empty.filter((one) => !(one in OPTIONALLY_EMPTY));
    expect(unexpected).toEqual(Object.keys(EXPECTED_EMPTY));
  });
});

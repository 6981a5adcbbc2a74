import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fillVariables, PANELS } from '../../dashboards/panels.ts';
import { hasProgram } from '../../support/programs.ts';
import type { Notice } from './alertmanager.ts';
import { PERHAPS_EMPTY, RIGHTLY_EMPTY } from './empty-panels.ts';
import { openPages, type Told, tellStory } from './story.ts';

/** Twice, for a machine that stands still once. */
const STORY_TIMEOUT_MS = 280_000;

/** What the webhook hears of the incident, by receiver, alert and subject, and why. */
const EXPECTED: Readonly<Record<string, string>> = {
  'team CrdbNodeUnavailable 5': 'n5 misses its heartbeats, alone, for longer than three minutes',
  'page CrdbNodeDead 5': 'n5 does not come back and counts as dead',
  'page CrdbMultipleNodesDown': 'n4 goes down, too, while n5 is dead',
  'page CrdbRangesUnavailable unavailable': 'ranges with replicas on n4 and n5 have no quorum',
  'page CrdbRangesWithoutLease no_lease': 'a range has no lease, also after n4 is back',
  'team CrdbReplicaBreakerTripped circuit_breaker_error':
    'a breaker is tripped, also after n4 is back',
  'team CrdbHotRange': 'a range has more load than should split it',
  'team CrdbTransactionTooOld leaky-service': 'it waits two minutes, CrdbIdleInTransaction five',
  'team CrdbIdleInTransaction leaky-service': 'an application leaves transactions open',
  'team CrdbMigrationAssistantFailed': 'the first provisioning fails',
};

/** What Prometheus fires and Alertmanager keeps to itself. */
const INHIBITED = ['CrdbNodeUnavailable 4'];
/** What fires as silently where the machine is slow: the node is away for three seconds less than the scaled hour of the alert. */
const PERHAPS_INHIBITED = ['CrdbRangesUnderreplicated underreplicated'];

/** Each comes later than the one before. */
const ORDER = [
  ['CrdbNodeUnavailable', 'CrdbNodeDead', 'CrdbMultipleNodesDown', 'CrdbRangesUnavailable'],
  ['CrdbRangesUnavailable', 'CrdbRangesWithoutLease'],
  ['CrdbTransactionTooOld', 'CrdbIdleInTransaction', 'CrdbHotRange'],
];

function subjectOf(labels: Readonly<Record<string, string>>): string {
  const { alertname, node_id, problem, application } = labels;
  return [alertname, node_id ?? problem ?? application].filter(Boolean).join(' ');
}

const VARIABLES = {
  __rate_interval: '10s',
  __range: '90s',
  job: '.+',
  cluster: 'incident',
  node: '.+',
  problem: '.+',
  application: '.+',
  user: '.+',
  collector: '.+',
  shard: '.+',
  instance: '.+',
  tier: 'region',
};

interface RangeAnswer {
  readonly result: readonly {
    readonly values: readonly (readonly [at: number, value: string])[];
  }[];
}

const hasAll = hasProgram('prometheus') && hasProgram('prometheus-alertmanager');

describe.skipIf(!hasAll)('the incident and the calm story before real programs', () => {
  let told: Told;
  let firing: readonly Notice[];

  beforeAll(async () => {
    told = await tellStory();
    firing = told.notices.filter(({ status }) => status === 'firing');
  }, STORY_TIMEOUT_MS);
  afterAll(() => told[Symbol.asyncDispose]());

  test('wake exactly those who should hear of it', () => {
    const heard = new Set(firing.map(({ receiver, labels }) => `${receiver} ${subjectOf(labels)}`));
    expect([...heard].toSorted()).toEqual(Object.keys(EXPECTED).toSorted());
  });

  test('keep to themselves what another alert explains', async () => {
    const all = await told.prometheus.query(
      'count by (alertname, node_id, problem, application) (max_over_time(ALERTS{alertstate="firing"}[10m]))',
    );
    const heard = new Set(firing.map(({ labels }) => subjectOf(labels)));
    const silent = all.map(({ labels }) => subjectOf(labels)).filter((one) => !heard.has(one));
    expect(silent.filter((one) => !PERHAPS_INHIBITED.includes(one))).toEqual(INHIBITED);
  });

  test('tell of causes before consequences', () => {
    const names = firing.map(({ labels }) => labels['alertname']);
    for (const chain of ORDER) {
      const places = chain.map((name) => names.indexOf(name));
      expect(places).toEqual(places.toSorted((a, b) => a - b));
    }
  });

  test('are over in the end', async () => {
    expect(await told.prometheus.query('ALERTS{alertstate="firing"}')).toEqual([]);
    expect(openPages(told.notices)).toEqual([]);
  });

  test('say what people can read', () => {
    for (const { annotations } of firing) {
      const text = `${annotations['summary']} ${annotations['description']}`;
      expect(text).not.toMatch(/<no value>|<error|%!|\{\{|\}\}/);
      expect(text).toContain('incident');
    }
    const page = firing.find(({ labels }) => labels['alertname'] === 'CrdbRangesUnavailable');
    expect(page?.annotations['description']).toMatch(
      /^Reads and writes of these keys hang or fail\. Longest: (?:r\d+(?: of table \d+)? \(reported by n\d\)(?:, |\. )){5}Nodes not live: n4 unavailable, n5 dead\. Bring back what is down; decommission and wipe nothing\.$/,
    );
  });

  test('leave the calm cluster alone', async () => {
    expect(firing.filter(({ labels }) => labels['crdb_cluster'] !== 'incident')).toEqual([]);
    expect(
      await told.prometheus.query(
        'max_over_time(ALERTS{alertstate="firing", crdb_cluster="calm"}[10m])',
      ),
    ).toEqual([]);
  });

  test('fill every panel but those that are rightly empty', { timeout: 120_000 }, async () => {
    const end = Date.now() / 1000;
    let asked = 0;
    const empty: string[] = [];
    for (const { title, queries } of PANELS) {
      for (const { refId, expr } of queries) {
        const query = encodeURIComponent(fillVariables(expr, VARIABLES));
        const { result } = await told.prometheus.api<RangeAnswer>(
          `/api/v1/query_range?query=${query}&start=${told.startedAt}&end=${end}&step=1`,
        );
        asked += 1;
        const values = result.flatMap((series) => series.values.map(([, value]) => value));
        if (values.every((value) => value === 'NaN')) empty.push(`${title} ${refId}`);
      }
    }
    expect(asked).toBeGreaterThan(150);
    const unexpected = empty.filter((one) => !PERHAPS_EMPTY.includes(one));
    expect(unexpected).toEqual(Object.keys(RIGHTLY_EMPTY));
  });
});

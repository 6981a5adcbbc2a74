import { beforeAll, describe, expect, test } from 'vitest';
import { hasProgram } from '../support/programs.ts';
import type { RuleCase } from './cases.ts';
import { caseOf, DEAD, NOTHING } from './firing.ts';
import { testRules, type Verdict } from './promtool.ts';
import { readRules, withoutTexts } from './rule-set.ts';
import { failuresOf, groupsOf, joined } from './together.ts';
import { World } from './world.ts';

/** One node after the other: drained for a minute, down for two. */
function rollingRestart(world: World, nodes: number, first: number): void {
  for (let id = 1; id <= nodes; id += 1) {
    const at = first + id * 3;
    world.liveness(
      id,
      (minute) => ['draining', 'unavailable', 'unavailable'][minute - at] ?? 'live',
    );
    world.set(
      'crdb_node_started_timestamp_seconds',
      { crdb_cluster: world.cluster, node_id: id },
      (minute) => (minute >= at + 3 ? at * 60 : 0),
    );
    world.silence(id, (minute) => minute > at && minute < at + 3);
  }
}

/** They are played together, each in a cluster of its own. */
const INCIDENTS: Readonly<Record<string, () => RuleCase>> = {
  'page before a disk is full that fills in 42 minutes, and after its node died': () => {
    const world = new World(140, 'fills').healthy(5);
    const store = { crdb_cluster: world.cluster, node_id: 1, store_id: 1 };
    world.set('crdb_store_available_bytes', store, (minute) =>
      Math.max(0, 5e11 - Math.max(0, minute - 60) * 1.2e10),
    );
    world.liveness(1, (minute) => (minute < 102 ? 'live' : minute < 108 ? 'unavailable' : 'dead'));
    world.silence(1, (minute) => minute >= 102);
    const full = { 'CrdbStoreDiskFillsSoon critical': 1, 'CrdbStoreDiskLow critical': 1 };
    return caseOf('disk', world, {
      60: NOTHING,
      76: NOTHING,
      88: { 'CrdbStoreDiskFillsSoon critical': 1 },
      96: full,
      104: full,
      112: { ...DEAD, ...full },
      139: DEAD,
    });
  },

  'go on while the exporter restarts': () => {
    const world = new World(100, 'restarts').healthy(5);
    world.liveness(1, () => 'dead').problem('underreplicated', 300);
    world.blackout((minute) => minute >= 80 && minute < 84);
    const all = { ...DEAD, 'CrdbRangesUnderreplicated warning': 1 };
    return caseOf('restart', world, { 70: all, 81: all, 83: all, 84: all, 86: all, 100: all });
  },

  'neither resolve nor multiply while no exporter is up': () => {
    const world = new World(90, 'blind');
    const clusters = ['c1', 'c2', 'c3', 'c4'];
    for (const cluster of clusters) world.healthy(3, cluster);
    world.liveness(1, () => 'dead', 'c1').liveness(1, () => 'dead', 'c2');
    world.blackout((minute) => minute >= 60 && minute < 68);
    const dead = { 'CrdbNodeDead warning': 2, 'CrdbNodeDead critical': 2 };
    const blind = { 'CrdbMonitoringBlind critical': 4, 'CrdbExporterDown warning': 1 };
    const course = {
      55: dead,
      62: dead,
      66: { ...dead, ...blind },
      69: { ...dead, 'CrdbMonitoringBlind critical': 4 },
      90: dead,
    };
    return caseOf('blackout', world, course, [world.cluster, ...clusters]);
  },

  'page nobody for a rolling restart with a node that is long dead': () => {
    const world = new World(50, 'rolls').healthy(21);
    rollingRestart(world, 10, 5);
    world.liveness(21, () => 'dead').silence(21, () => true);
    const minutes = Array.from({ length: 10 }, (_, index) => 10 + index * 3);
    return caseOf(
      'rolling restart',
      world,
      Object.fromEntries(minutes.map((minute) => [minute, DEAD])),
    );
  },

  'are quiet during the upgrade of 3 nodes': () => upgrade(3),
  'are quiet during the upgrade of 9 nodes': () => upgrade(9),

  'are quiet for a cluster of one node': () => {
    const world = new World(100, 'single').healthy(1).problem('underreplicated', 40);
    return caseOf('one node', world, { 30: NOTHING, 100: NOTHING });
  },

  'are quiet while 200 nodes are calm': () => {
    const world = new World(12, 'large').healthy(200);
    return caseOf('200 nodes', world, { 3: NOTHING, 12: NOTHING });
  },
};

function upgrade(nodes: number): RuleCase {
  const world = new World(90, `upgrade-${nodes}`).healthy(nodes);
  rollingRestart(world, nodes, 20);
  for (let id = 1; id <= nodes; id += 1) {
    const at = 20 + id * 3 + 2;
    world.build(id, 'v1', (minute) => minute < at).build(id, 'v2', (minute) => minute >= at);
  }
  world.set('crdb_build_tags', { crdb_cluster: world.cluster }, (minute) =>
    minute >= 25 && minute < 25 + nodes * 3 ? 2 : 1,
  );
  return caseOf('upgrade', world, { 30: NOTHING, 60: NOTHING, 90: NOTHING });
}

const LIMIT_MS = 600_000;

describe.skipIf(!hasProgram('promtool'))('the alerts', () => {
  const cases = new Map(Object.entries(INCIDENTS).map(([title, play]) => [title, play()]));
  let verdict: Verdict;

  beforeAll(async () => {
    const groups = withoutTexts(readRules());
    verdict = await testRules(groups, groupsOf([...cases.values()]).map(joined));
  }, LIMIT_MS);

  test.each(Object.keys(INCIDENTS))('%s', (title) => {
    expect(failuresOf(cases.get(title), [verdict])).toEqual([]);
  });

  test('are of a cluster or an exporter', () => {
    expect(verdict.text).not.toContain('FAILED');
    expect(verdict.passed).toBe(true);
  });

  test('name a lost region and claim no lost quorum', { timeout: LIMIT_MS }, async () => {
    const world = new World(60).healthy(9);
    for (const id of [3, 6, 9]) {
      world.liveness(id, (minute) =>
        minute >= 20 ? (minute < 26 ? 'unavailable' : 'dead') : 'live',
      );
      world.silence(id, (minute) => minute >= 20);
    }
    world.set('crdb_ranges_without_live_replica', { crdb_cluster: 'p' }, (minute) =>
      minute >= 20 ? 3 : 0,
    );
    const down = { 'CrdbMultipleNodesDown critical': 1 };
    const lost = caseOf('lost region', world, {
      19: NOTHING,
      22: down,
      30: { ...down, 'CrdbNodeDead warning': 3, 'CrdbRangesLost critical': 1 },
    });
    const texts = [
      {
        alertname: 'CrdbMultipleNodesDown',
        eval_time: '25m',
        exp_alerts: [
          {
            exp_labels: { crdb_cluster: 'p', severity: 'critical', component: 'node' },
            exp_annotations: {
              summary: '3 nodes of p are down at once.',
              description:
                'Nodes down, but live within the last hour: n3, n6, n9; not seen live in it: none. Localities without a live node: region=eu. Ranges without quorum: 0; without a live replica: 3. Start the most recently lost node first; do not decommission nodes and do not wipe disks.',
            },
          },
        ],
      },
    ];
    const { text, passed } = await testRules(readRules(), [{ ...lost, alert_rule_test: texts }]);
    expect(text).not.toContain('FAILED');
    expect(passed).toBe(true);
  });
});

import { describe, expect, test } from 'vitest';
import { hasProgram } from '../support/programs.ts';
import type { RuleCase } from './cases.ts';
import { testRules } from './promtool.ts';
import { closureOf, readRules, withoutTexts, type RuleGroup } from './rule-set.ts';
import { changingWorldsCase } from './safe-to-stop-cases.ts';
import { World } from './world.ts';

const GROUPS = withoutTexts(readRules());

/**
 * The rules that the named ones need, each in a group of its own, the last one first. So a rule reads what the rules before
 * it recorded one evaluation ago. vmalert does so within a group: it sends results while it evaluates the next rule.
 */
function lastFirst(...names: readonly string[]): readonly RuleGroup[] {
  return closureOf(GROUPS, names)
    .flatMap(({ rules }) => rules)
    .map((rule, index) => ({ name: String(index), rules: [rule] }))
    .toReversed();
}

describe.skipIf(!hasProgram('promtool'))('where a rule reads the evaluation before', () => {
  test('nodes may stop only by what is seen now', { timeout: 600_000 }, async () => {
    const groups = lastFirst('crdb_cluster_node_id:crdb_safe_to_stop:bool');
    expect(await failuresOf(groups, changingWorldsCase([1, 2, 5, 13]))).toBe('');
  });

  test('dead nodes may be decommissioned only by what is seen now', async () => {
    const groups = lastFirst(
      'crdb_cluster_node_id:crdb_may_decommission:bool',
      'crdb_cluster:crdb_may_decommission:bool',
    );
    expect(await failuresOf(groups, oneDoubtAfterAnother())).toBe('');
  });

  // Groups that are evaluated every minute each begin at their own second.
  test('nodes are down at once by what was recorded a minute ago', async () => {
    const groups = lastFirst('CrdbMultipleNodesDown');
    expect(await failuresOf(groups, twoOfFiveDown())).toBe('');
  });

  // The rule of a reason may have been evaluated already, and that of another one not yet.
  test.each(['ranges_unavailable', 'ranges_lost'])(
    'a cluster with a reason is not healthy while %s is ahead',
    async (reason) => {
      const groups = lastFirst('crdb_cluster:crdb_health:code');
      const isAhead = ({ rules: [rule] }: RuleGroup): boolean =>
        rule?.labels?.['reason'] === reason;
      const ordered = [...groups.filter(isAhead), ...groups.filter((group) => !isAhead(group))];
      expect(await failuresOf(ordered, oneReasonAfterAnother())).toBe('');
    },
  );
});

/** What promtool says of failures. */
async function failuresOf(groups: readonly RuleGroup[], oneCase: RuleCase): Promise<string> {
  const { passed, text } = await testRules(groups, [oneCase]);
  return passed ? '' : text;
}

/** What speaks against the decommissioning of the dead nodes 3 and 4, and of which it does not. */
const AGAINST: readonly (readonly [what: string, others: readonly string[]])[] = [
  ['unverified', []],
  ['node 3 needed', ['node_id="4"']],
  // It is the only dead one then.
  ['node 3 back', ['', 'node_id="4"']],
  ['damaged', []],
  ['node 4 needed', ['node_id="3"']],
  ['keys missing', []],
  ['scan too old', []],
];

const NOTHING: (typeof AGAINST)[number] = ['nothing', ['', 'node_id="3"', 'node_id="4"']];

/** Each minute something else speaks against it, in the end nothing. */
function oneDoubtAfterAnother(): RuleCase {
  const minutes = 3 * AGAINST.length;
  const doubt = (minute: number) => (minute < minutes ? AGAINST[minute % AGAINST.length] : NOTHING);
  const is = (minute: number, what: string): boolean => doubt(minute)?.[0] === what;
  const world = new World(minutes);
  const own = { crdb_cluster: 'p', job: 'j', instance: 'a' };
  const collector = { ...own, collector: 'ranges', shard: 0 };
  for (const id of [1, 2]) {
    world.set('crdb_range_scan_node_success', { ...own, node_id: id }, 1);
    world.set('crdb_node_dependent_ranges', { ...own, node_id: id, effect: 'quorum' }, 3);
    world.set('crdb_node_liveness', { ...own, node_id: id, status: 'live' }, 1);
  }
  for (const id of [3, 4]) {
    const node = { ...own, node_id: id };
    const isBack = (minute: number): number => (is(minute, `node ${id} back`) ? 1 : 0);
    world.set('crdb_node_liveness', { ...node, status: 'dead' }, (m) => 1 - isBack(m));
    world.set('crdb_node_liveness', { ...node, status: 'live' }, isBack);
    world.set('crdb_node_down_replicas', node, (m) => (is(m, `node ${id} needed`) ? 1 : 0));
  }
  world.set('crdb_ranges_unverified', own, (m) => (is(m, 'unverified') ? 1 : 0));
  world.set('crdb_ranges_serving_nothing', own, (m) => (is(m, 'damaged') ? 1 : 0));
  world.set('crdb_range_key_space_complete', own, (m) => (is(m, 'keys missing') ? 0 : 1));
  world.set('crdb_exporter_collector_interval_seconds', collector, 60);
  world.set('crdb_exporter_collector_duration_seconds', collector, 10);
  world.set('crdb_exporter_collector_last_success_timestamp_seconds', collector, (m) =>
    is(m, 'scan too old') ? 60 * m - 161 : 60 * m - 60,
  );
  return {
    name: 'crdb_cluster:crdb_may_decommission:bool: one doubt after another',
    interval: '1m',
    input_series: world.write(),
    promql_expr_test: Array.from({ length: minutes + 1 }, (_, minute) => ({
      expr: 'max by (node_id) ({__name__=~"crdb_cluster.*:crdb_may_decommission:bool"})',
      eval_time: `${minute}m`,
      exp_samples: (doubt(minute)?.[1] ?? []).map((labels) => ({
        labels: `{${labels}}`,
        value: 1,
      })),
    })),
  };
}

/** Two nodes are dead from minute 5 on. */
function twoOfFiveDown(): RuleCase {
  const world = new World(20);
  for (const id of [1, 2, 3, 4, 5]) {
    const node = { crdb_cluster: 'p', instance: 'a', node_id: id };
    const isDead = (minute: number): number => (id < 3 && minute >= 5 ? 1 : 0);
    world.set('crdb_node_liveness', { ...node, status: 'dead' }, isDead);
    world.set('crdb_node_liveness', { ...node, status: 'live' }, (m) => 1 - isDead(m));
  }
  return {
    name: 'CrdbMultipleNodesDown: two of five',
    interval: '1m',
    input_series: world.write(),
    promql_expr_test: [4, 20].map((minute) => ({
      expr: 'count(ALERTS{alertname="CrdbMultipleNodesDown",alertstate="firing"})',
      eval_time: `${minute}m`,
      exp_samples: minute === 20 ? [{ labels: '{}', value: 1 }] : [],
    })),
  };
}

/** 1 in even or in odd minutes, until minute 10. */
function turn(minute: number, remainder: number): number {
  return minute < 10 && minute % 2 === remainder ? 1 : 0;
}

/** Ranges are unavailable and lost by turns, until nothing is wrong from minute 10 on. */
function oneReasonAfterAnother(): RuleCase {
  const world = new World(15);
  const sessions = { crdb_cluster: 'p', collector: 'sessions', shard: 0 };
  world.set('crdb_up', { crdb_cluster: 'p', api: 'cluster' }, 1);
  world.set('crdb_exporter_collector_interval_seconds', sessions, 60);
  world.set('crdb_exporter_collector_last_success_timestamp_seconds', sessions, (m) => 60 * m);
  world.set(
    'crdb_range_problem_ranges',
    { crdb_cluster: 'p', problem: 'unavailable', shard: 0 },
    (m) => turn(m, 0),
  );
  world.set('crdb_ranges_without_live_replica', { crdb_cluster: 'p' }, (m) => turn(m, 1));
  return {
    name: 'crdb_cluster:crdb_health:code: one reason after another',
    interval: '1m',
    input_series: world.write(),
    promql_expr_test: [2, 3, 4, 5, 6, 7, 8, 9, 14].map((minute) => ({
      expr: 'crdb_cluster:crdb_health:code == bool 0',
      eval_time: `${minute}m`,
      exp_samples: [{ labels: '{crdb_cluster="p"}', value: minute === 14 ? 1 : 0 }],
    })),
  };
}

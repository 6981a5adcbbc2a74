import type { RuleCase } from './cases.ts';
import { testRules } from './promtool.ts';
import { readRules, withoutTexts } from './rule-set.ts';
import type { World } from './world.ts';

/** Firing alerts with their severity and number, at a minute. */
type Firing = Readonly<Record<number, Readonly<Record<string, number>>>>;

const GROUPS = readRules();

/** A case in which exactly these alerts fire at these minutes. */
export function caseOf(
  name: string,
  world: World,
  firing: Firing,
  texts: RuleCase['alert_rule_test'] = [],
): RuleCase {
  return {
    name,
    interval: '1m',
    input_series: world.write(),
    promql_expr_test: Object.entries(firing).map(([minute, alerts]) => ({
      expr: 'count by (alertname, severity) (ALERTS{alertstate="firing",alertname!="CrdbWatchdog"})',
      eval_time: `${minute}m`,
      exp_samples: Object.entries(alerts).map(([alert, value]) => {
        const [alertname, severity] = alert.split(' ');
        return { labels: `{alertname="${alertname}",severity="${severity}"}`, value };
      }),
    })),
    alert_rule_test: texts,
  };
}

/** What differs from exactly these alerts at these minutes; empty when nothing does. */
export async function differences(
  world: World,
  firing: Firing,
  texts: RuleCase['alert_rule_test'] = [],
): Promise<string> {
  const groups = texts.length > 0 ? GROUPS : withoutTexts(GROUPS);
  const { passed, text } = await testRules(groups, [caseOf('incident', world, firing, texts)]);
  return passed ? '' : text;
}

export const NOTHING = {};
export const DEAD = { 'CrdbNodeDead warning': 1 };

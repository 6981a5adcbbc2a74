import type { RuleCase } from './cases.ts';
import { firingOf } from './together.ts';
import type { World } from './world.ts';

/** Firing alerts with their severity and number, at a minute. */
type Firing = Readonly<Record<number, Readonly<Record<string, number>>>>;

/** A case in which exactly these alerts of the clusters fire at these minutes. */
export function caseOf(
  name: string,
  world: World,
  firing: Firing,
  clusters: readonly string[] = [world.cluster],
): RuleCase {
  return {
    name,
    interval: '1m',
    input_series: world.write(),
    promql_expr_test: Object.entries(firing).map(([minute, alerts]) => ({
      expr: `count by (alertname, severity) (${firingOf(clusters)})`,
      eval_time: `${minute}m`,
      exp_samples: Object.entries(alerts).map(([alert, value]) => {
        const [alertname, severity] = alert.split(' ');
        return { labels: `{alertname="${alertname}",severity="${severity}"}`, value };
      }),
    })),
  };
}

export const NOTHING = {};
export const DEAD = { 'CrdbNodeDead warning': 1 };

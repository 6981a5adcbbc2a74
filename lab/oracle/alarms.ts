import type { ClusterStatus } from '../../src/status/findings/status.ts';
import type { Exposition } from './rule.ts';
import type { Outages } from './truth.ts';
import type { Surface } from './verdicts.ts';

/**
 * The critical alerts of ranges. `reported`: a scan that did not read all nodes confirms nothing, and the alert says what replicas
 * report.
 */
const ALARMS = [
  'CrdbRangesLost',
  'CrdbRangesUnavailable',
  'CrdbRangesWithoutLease',
  'CrdbRangesWithoutLease (reported)',
] as const;
export type Alarm = (typeof ALARMS)[number] | 'another critical finding of ranges';

/** The alerts whose expressions are true, as if they did not wait: that they last is no excuse for what is not so at all. */
export function alarmsOf(metrics: Exposition): readonly Alarm[] {
  const isServing = metrics.value('crdb_ranges_serving_nothing');
  const isReported = (problem: string): boolean =>
    metrics.isAbove0('crdb_range_problem_ranges', { problem });
  const isFiring: Readonly<Record<(typeof ALARMS)[number], boolean>> = {
    CrdbRangesLost:
      metrics.isAbove0('crdb_ranges_without_live_replica') ||
      metrics.isAbove0('crdb_range_key_space_gap'),
    CrdbRangesUnavailable: isReported('unavailable'),
    CrdbRangesWithoutLease: isServing !== undefined && isServing > 0,
    'CrdbRangesWithoutLease (reported)': isServing === undefined && STUCK.some(isReported),
  };
  return ALARMS.filter((alarm) => isFiring[alarm]);
}

const STUCK = ['no_lease', 'no_raft_leader', 'circuit_breaker_error'] as const;

/** The same by the page, with the texts. */
export function findingsOf({ findings }: Pick<ClusterStatus, 'findings'>): readonly {
  readonly alarm: Alarm;
  readonly text: string;
}[] {
  return findings
    .filter(({ level, about }) => level === 'critical' && about === 'ranges')
    .map(({ key, alert, text }) => {
      const isReported = STUCK.some((problem) => key === `ranges ${problem}`);
      const name = isReported ? 'CrdbRangesWithoutLease (reported)' : alert;
      const alarm = ALARMS.find((each) => each === name) ?? 'another critical finding of ranges';
      return { alarm, text };
    });
}

/** Whether the alarm is right while this is true. The page counts a range, too, of which too few replicas vote. */
export function isRight(alarm: Alarm, outages: Outages, surface: Surface): boolean {
  const { lost, withoutQuorum, servingNothing, reported } = outages;
  switch (alarm) {
    case 'CrdbRangesLost':
      return lost;
    case 'CrdbRangesUnavailable':
      return withoutQuorum || reported.has('unavailable') || (surface === 'page' && servingNothing);
    case 'CrdbRangesWithoutLease':
      return servingNothing || withoutQuorum;
    case 'CrdbRangesWithoutLease (reported)':
      return servingNothing || withoutQuorum || STUCK.some((problem) => reported.has(problem));
    default:
      // Many ranges with too few replicas: what their leaseholders report.
      return withoutQuorum || reported.has('underreplicated');
  }
}

import {
  type DynamicConfigValue,
  MappingType,
  SpecialValueMatch,
  ThresholdsConfigBuilder,
  ThresholdsMode,
  type ValueMapping,
} from '@grafana/grafana-foundation-sdk/dashboard';
import type { ThresholdName } from '#alerts';
import type { Query } from './crowd.ts';

/** Colours show state only: healthy, degraded, act now, intended or for information, unknown (grey), no data; `text` is neutral. */
export type Colour = 'green' | 'orange' | 'red' | 'blue' | '#808080' | 'purple' | 'text';

/** The colour of the lowest values, then thresholds with their colours. */
export type Steps = readonly [base: Colour, ...(readonly [from: number, colour: Colour])[]];

/** The text and colour of each value. */
export type States = Readonly<Record<string, readonly [text: string, colour: Colour]>>;

/** The liveness of a node by its number: the worst that any exporter sees, recorded by the rules. */
export const LIVENESS_SEVERITY = 'crdb_cluster_node:crdb_node_liveness:severity';
/** Numbers from this one on are no state that a node is meant to have; from DOWN on it is down. */
export const UNKNOWN_LIVENESS = 3;
export const DOWN = 5;

/** The number of each node, once although several Prometheus servers record it. */
export function livenessOf(selector: string, labels = 'node_id'): string {
  return `max by (${labels}) (${LIVENESS_SEVERITY}{${selector}})`;
}

/** What the numbers mean. */
export const LIVENESS: States = {
  0: ['live', 'green'],
  1: ['draining', 'blue'],
  2: ['decommissioning', 'blue'],
  3: ['unknown', '#808080'],
  4: ['other', '#808080'],
  5: ['unavailable', 'orange'],
  6: ['dead while leaving', 'red'],
  7: ['dead', 'red'],
};

/** Dead for days, and no range needs them: no alert counts these nodes. */
export const RETIRED = 'crdb_cluster_node_id:crdb_node_retired:bool';

/** Nodes that are down: degraded, or critical as the recorded reason of the health says; each case has a query. */
export function nodesDown(selector: string, legend = ''): readonly Query[] {
  const down = `count(${livenessOf(selector)} >= ${DOWN} unless on (node_id) ${RETIRED}{${selector}})`;
  const isCritical = `crdb_cluster_reason:crdb_health:code{${selector}, reason="nodes_down"} == 2`;
  return [
    { expr: `${down} unless on () ${isCritical}`, legend },
    { expr: `${down} and on () ${isCritical}`, legend },
  ];
}

/** Ranges without quorum, as nodes report them or, where these are more, by the descriptors of a node; what CrdbRangesUnavailable counts. */
export function unavailableRanges(selector: string, ...labels: readonly string[]): string {
  const by = (...more: readonly string[]): string => `by (${[...labels, ...more].join(', ')})`;
  const reported = `crdb_range_problem_ranges{${selector}, problem="unavailable"}`;
  const unreported = `crdb_node_dependent_ranges{${selector}, effect="without_quorum"}`;
  return `max ${by()} (sum ${by('problem')} (max ${by('problem', 'shard')} (${reported})) or max ${by('effect')} (${unreported}))`;
}

export const HEALTH: States = {
  0: ['OK', 'green'],
  1: ['DEGRADED', 'orange'],
  2: ['CRITICAL', 'red'],
  3: ['UNKNOWN: does SQL work?', '#808080'],
};

/** Severities of alerts; 0 is one that the settings of the rules name. */
export const SEVERITY: States = {
  0: ['other', '#808080'],
  1: ['info', 'blue'],
  2: ['warning', 'orange'],
  3: ['critical', 'red'],
};

export const BREAKER: States = {
  0: ['closed', 'green'],
  1: ['half open', 'orange'],
  2: ['open', 'red'],
};

export const ASSISTANT_STATUS: States = {
  0: ['none', '#808080'],
  1: ['pending', 'blue'],
  2: ['running', 'green'],
  3: ['deleting', 'blue'],
  4: ['failed', 'red'],
  5: ['other', '#808080'],
};

export const ASSISTANT_HEALTH: States = {
  0: ['none', '#808080'],
  1: ['healthy', 'green'],
  2: ['not computed', 'blue'],
  3: ['unavailable', 'orange'],
  4: ['unknown', '#808080'],
  5: ['other', '#808080'],
};

/** What is not allowed now is no fault. */
export const MAY: States = { 0: ['no', '#808080'], 1: ['yes', 'green'] };

/** Whether a poll or a reload succeeded; failures are warnings. */
export const SUCCESS: States = { 0: ['no', 'orange'], 1: ['yes', 'green'] };

export const UP_DOWN: States = { 0: ['down', 'red'], 1: ['up', 'green'] };

/** The threshold of an alert. */
export type Limit = (name: ThresholdName) => number;

/** Time until something expires. */
export function expires(limit: Limit, what: 'certificate' | 'license'): Steps {
  return [
    'red',
    [limit(`${what}_critical_days`) * 86_400, 'orange'],
    [limit(`${what}_days`) * 86_400, 'green'],
  ];
}

/** The free share of a store. */
export function diskSteps(limit: Limit): Steps {
  return ['red', [limit('disk_critical'), 'orange'], [limit('disk'), 'green']];
}

/** The colour of the series that is the sum of unlisted entries. */
export const SERIES_COLOURS: Readonly<Record<string, Colour>> = { other: '#808080' };

export function thresholds([base, ...steps]: Steps): ThresholdsConfigBuilder {
  return new ThresholdsConfigBuilder()
    .mode(ThresholdsMode.Absolute)
    .steps([
      { value: null, color: base },
      ...steps.map(([from, colour]) => ({ value: from, color: colour })),
    ]);
}

/** Thresholds of one query. */
export function coloured(steps: Steps): DynamicConfigValue[] {
  return [{ id: 'thresholds', value: thresholds(steps).build() }];
}

/** Missing data must not look healthy. */
const NO_DATA: ValueMapping = {
  type: MappingType.SpecialValue,
  options: { match: SpecialValueMatch.NullAndNan, result: { text: 'no data', color: 'purple' } },
};

export function mappings(states: States = {}): ValueMapping[] {
  const options = Object.fromEntries(
    Object.entries(states).map(([value, [text, color]]) => [value, { text, color }]),
  );
  const named: ValueMapping[] =
    Object.keys(options).length === 0 ? [] : [{ type: MappingType.ValueToText, options }];
  return [...named, NO_DATA];
}

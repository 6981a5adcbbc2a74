import type { Thresholds } from '../../../src/alerts/thresholds.ts';
import { CLUSTER_CHECKS } from '../../../src/status/findings/check-cluster.ts';
import { PARTITION } from '../../../src/status/findings/check-network.ts';
import { RANGE_CHECKS } from '../../../src/status/findings/check-ranges.ts';
import { runChecks } from '../../../src/status/findings/check.ts';
import type { Memory } from '../../../src/status/findings/evidence.ts';
import { FIGURES } from '../../../src/status/findings/figures.ts';
import { findFigures } from '../../../src/status/findings/find-figures.ts';
import { toFindings } from '../../../src/status/findings/problem.ts';
import type { Problem } from '../../../src/status/findings/status.ts';
import {
  type Node,
  node,
  nodesResult,
  observeAt,
  polledCluster,
  type Results,
} from '../results.ts';

export const NOW_MS = Date.parse('2026-03-01T12:00:00Z');

const CHECKS = [...CLUSTER_CHECKS, PARTITION, ...RANGE_CHECKS];

/** What figures and checks find in these results, with what is remembered and the thresholds that are configured. */
export function check(
  results: Results,
  memory: Partial<Memory> = {},
  thresholds: Partial<Thresholds> = {},
): readonly Problem[] {
  const cluster = polledCluster({ pollers: [], isUp: true, results });
  const evidence = observeAt(NOW_MS, cluster, memory, thresholds);
  const figures = Object.values(FIGURES).flat();
  return [...findFigures(figures, evidence), ...runChecks(CHECKS, evidence)];
}

/** What is found at a live node with these metrics, besides a calm one. */
export function found(more: Partial<Node>, others: readonly Node[] = [node(2)]) {
  return check({ nodes: nodesResult(node(1, { memoryBytes: 100, ...more }), ...others) });
}

/** A node with these metrics. */
export function metrics(values: Readonly<Record<string, number>>): Partial<Node> {
  return { metrics: new Map(Object.entries(values)) };
}

/** The severities of problems. */
export function levels(problems: readonly Problem[]) {
  return toFindings(problems, () => NOW_MS).map(({ level }) => level);
}

/** A node with a store with these metrics. */
export function store(values: Readonly<Record<string, number>>): Partial<Node> {
  return { stores: new Map([['1', new Map(Object.entries(values))]]) };
}

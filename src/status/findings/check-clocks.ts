import { formatDuration } from '#base';
import { medianRecord } from '#cockroach';
import type { ListedNode, NodesResult } from '#collectors';
import type { CollectorState } from '#exporter';
import type { ClockDifference, Evidence } from './evidence.ts';
import type { Figure } from './find-figures.ts';
import { secondsOf } from './node-metrics.ts';
import type { Problem } from './status.ts';

/** The clock of an exporter that differs by more than this and the time of a poll is wrong, as in CrdbExporterClockWrong. */
const MAX_DIFFERENCE_SECONDS = 30;
/** A record may be this much later than the Date of the response, which has whole seconds, and than the other records. */
const MAX_LEAD_SECONDS = 15;
/** How much a mean that a node reports may differ from what another clock explains. */
const TOLERANCE = 1.2;

/**
 * How much the clocks of nodes are off, by the offsets that they report and by the times of their records. A node reports the
 * mean to its peers, as CrdbClockOffsetHigh has it. Example: of four nodes that report one is 900 ms off, so that the others
 * report 300 ms: they are left out.
 */
export const clockOffsets: Figure['read'] = (evidence) => {
  const misdated = findMisdatedRecords(evidence);
  const offsets = evidence.nodes.map((node) => ({
    nodeId: node.id,
    value: misdated.get(node.id) ?? reportedOffset(node),
  }));
  const worst = Math.max(...offsets.map(({ value }) => value));
  const { length: known } = offsets.filter(({ value }) => Number.isFinite(value));
  const explained = known < 3 ? 0 : (TOLERANCE * worst) / (known - 1);
  return offsets.filter(({ value }) => value > explained);
};

/** -Infinity where it is not known. */
function reportedOffset({ isFresh, metrics }: ListedNode): number {
  const offset = isFresh ? secondsOf(metrics, 'clock-offset.meannanos') : undefined;
  return offset === undefined ? -Infinity : Math.abs(offset);
}

/**
 * The nodes whose records have times that are wrong, with the seconds: in the future, or always late. A record that is only
 * old has a right time.
 */
function findMisdatedRecords({
  nodes,
  answeredMs = 0,
  lateRecords,
}: Evidence): ReadonlyMap<number, number> {
  const others = medianRecord(nodes);
  if (others === 0) return lateRecords;
  const latest = Math.max(others, answeredMs / 1000) + MAX_LEAD_SECONDS;
  const ahead = nodes
    .filter(({ updatedSeconds }) => updatedSeconds > latest)
    .map(({ id, updatedSeconds }) => [id, updatedSeconds - others] as const);
  return new Map([...lateRecords, ...ahead]);
}

/** Compares the clock of the exporter with the Date of the last list of nodes. */
export function compareClocks(
  collectors: readonly CollectorState[],
  { answeredMs, nodes }: NodesResult,
): ClockDifference | undefined {
  const poll = collectors.find(({ name }) => name === 'nodes');
  const endMs = Date.parse(poll?.lastSuccessAt ?? '');
  if (answeredMs === undefined || Number.isNaN(endMs)) return undefined;
  const seconds = (endMs - answeredMs) / 1000;
  const tolerance = MAX_DIFFERENCE_SECONDS + (poll?.durationSeconds ?? 0);
  if (Math.abs(seconds) <= tolerance) return undefined;
  const differsFromNodes = Math.abs(endMs / 1000 - medianRecord(nodes)) > tolerance;
  return { seconds, wrong: differsFromNodes ? 'exporter' : 'date' };
}

/** The time by the clock of the cluster, ms; by the exporter's, unless that is known to be wrong. */
export function clusterTime(nowMs: number, clocks: ClockDifference | undefined): number {
  return clocks?.wrong === 'exporter' ? nowMs - clocks.seconds * 1000 : nowMs;
}

/** The problem that the clock of the exporter is wrong, or the Date of the responses. */
export function findWrongTime({ clocks }: Evidence): Problem | undefined {
  if (clocks === undefined) return undefined;
  const { seconds, wrong } = clocks;
  const problem = { key: 'wrong time', alert: 'CrdbExporterClockWrong' } as const;
  const much = formatDuration(Math.abs(seconds));
  if (wrong === 'exporter') {
    return {
      ...problem,
      about: 'exporter',
      text: `The clock of the exporter is ${much} ${seconds > 0 ? 'ahead of' : 'behind'} the clock of the server.`,
      next: 'Check the time service of its host. The times since when problems last are wrong by it; ages, and times that are left, are not.',
    };
  }
  return {
    ...problem,
    about: 'nodes',
    level: 'warning',
    text: `The Date of the responses is ${much} ${seconds > 0 ? 'behind' : 'ahead of'} the clocks of the exporter and of the nodes.`,
    next: 'Check the clock of the proxy in front of the cluster, or of the node at its URL. Records of nodes look older or younger by it: values of records that look old are not shown.',
  };
}

/** How old the record of a node is, in seconds; undefined where its time is wrong, or the Date that it is compared with. */
export function readAges(evidence: Evidence): (id: number) => number | undefined {
  if (evidence.clocks?.wrong === 'date') return () => undefined;
  const misdated = findMisdatedRecords(evidence);
  const ages = new Map(
    evidence.nodes.map(({ id, recordAgeSeconds, updatedSeconds }) => [
      id,
      recordAgeSeconds ?? evidence.clusterMs / 1000 - updatedSeconds,
    ]),
  );
  return (id) => (misdated.has(id) ? undefined : ages.get(id));
}

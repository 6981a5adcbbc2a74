import { LIVENESS_BY_CODE, type LivenessStatus } from '#base';
import { array, type Infer, nameText, object, type ObjectShape } from '#json';
import { cleanLabelValue } from '#metrics';

/** Ids of ranges, stores and nodes begin at 1; above 2^53 two of them could look alike. */
export function isId(id: number | undefined): id is number {
  return id !== undefined && id > 0 && Number.isSafeInteger(id);
}

/** A part of the locality of a node. */
export interface Tier {
  readonly key: string;
  readonly value: string;
}

/** A request to any other node fails after seconds, or never ends. */
export const REACHABLE: ReadonlySet<string> = new Set(['live', 'draining', 'decommissioning']);

/**
 * Nodes that count as dead. A listed node with status `decommissioned` died while it was being decommissioned and may hold
 * replicas. One that has finished is no longer listed.
 */
export const DEAD: ReadonlySet<string> = new Set(['dead', 'decommissioned']);
/** Members whose builds count, as DB Console counts them: a decommissioning node leaves with the build that it has. */
export const ACTIVE: ReadonlySet<string> = new Set(['live', 'draining', 'unavailable']);
/** Statuses of nodes whose process or machine is down. */
export const DOWN: ReadonlySet<string> = new Set([...DEAD, 'unavailable']);

/** The records are large and little of them is read, but the server prepares them in full. */
export const PAGE_LIMIT = 200;

/** Tiers of a node that are read: real clusters have two or three, and every range is counted for each. */
const MAX_TIERS = 6;
/** Characters of `region=us-east1,zone=b`; they stay in memory for each node. */
const MAX_LOCALITY_LENGTH = 256;
/** Localities of a cluster that are read: `region=us-east1` and `region=us-east1,zone=b` are two. */
const MAX_LOCALITIES = 10_000;

/** The locality of a node, as it sends it. */
export const localityShape = object({
  tiers: array(object({ key: nameText(), value: nameText() })),
});

/** Copies the localities of the nodes of one list, as far as they are within the limits. */
export class LocalityReader {
  /** Whether a tier was left out because of a limit. */
  isCut = false;
  /** The last tier of each locality. */
  readonly #tiers = new Map<string, Tier>();

  /**
   * Copies the tiers of a node, whose texts become valid label values; without the first one that is over a limit and those
   * after it.
   */
  copyTiers({ tiers }: Infer<typeof localityShape>): readonly Tier[] {
    const copied: Tier[] = [];
    let locality = '';
    for (const { key = '', value = '' } of tiers) {
      const tier = { key: cleanLabelValue(key), value: cleanLabelValue(value) };
      // No clean text has a line break.
      locality += `\n${tier.key}\n${tier.value}`;
      const known = this.#tiers.get(locality);
      if (known === undefined && this.#isOverLimit(copied.length, locality)) {
        this.isCut = true;
        break;
      }
      this.#tiers.set(locality, known ?? tier);
      copied.push(known ?? tier);
    }
    return copied;
  }

  #isOverLimit(tiersBefore: number, locality: string): boolean {
    return (
      tiersBefore === MAX_TIERS ||
      locality.length > 1 + MAX_LOCALITY_LENGTH ||
      this.#tiers.size === MAX_LOCALITIES
    );
  }
}

/**
 * How nodes are listed; `limit` is their number per page, `firstUrl` the index of the URL to begin with, `dateMs` the Date
 * header of the page that holds the node.
 */
export interface NodesRequest<S extends ObjectShape> {
  readonly limit: number;
  readonly firstUrl?: number;
  readonly shape: S;
  readonly onNode: (node: Infer<S>, dateMs: number | undefined) => void;
}

/** The state and age of the record of a node, which decide whether it is fresh. */
interface RecordAge {
  /** Undefined when what the server sent is no integer. */
  readonly livenessCode: number | undefined;
  readonly updatedSeconds: number;
}

export function livenessOf({ livenessCode = -1 }: Pick<RecordAge, 'livenessCode'>): LivenessStatus {
  return LIVENESS_BY_CODE[livenessCode] ?? 'other';
}

/** Records are written every 10 s; one that missed five of these is frozen. */
const MAX_LAG_SECONDS = 60;
/** Against the clock of the answering node: when no record is younger, their order proves nothing, and the list may be an old one. */
export const MAX_RECORD_AGE_SECONDS = 120;

/** How far the clocks of the nodes may be ahead of the clock of the server that answered. */
const MAX_CLOCK_LEAD_SECONDS = 5;

/** Whether the metrics of a node are current: not those of a record that is no longer updated. */
export function freshnessOf(
  nodes: readonly RecordAge[],
  answeredMs: number | undefined,
): (node: RecordAge) => boolean {
  const answered = answeredMs === undefined ? undefined : answeredMs / 1000;
  const newest = newestRecord(nodes, answered);
  const oldest = Math.max(newest - MAX_LAG_SECONDS, (answered ?? newest) - MAX_RECORD_AGE_SECONDS);
  // Nobody knows how old a record is whose time is in the future.
  const latest = newest === 0 ? Infinity : newest + MAX_LAG_SECONDS;
  return (node) =>
    node.updatedSeconds > 0 &&
    node.updatedSeconds >= oldest &&
    node.updatedSeconds <= latest &&
    !DEAD.has(livenessOf(node));
}

/**
 * Time of the newest record, only of nodes that serve: a dead node may have had a wrong clock. Nor does a record count
 * that lies in the future; if all do, or nobody knows the time, the median of all does. Example: records of 12:00:00,
 * 12:00:08 and 13:30:00 in a response of 12:00:10: the newest is the one of 12:00:08.
 */
function newestRecord(nodes: readonly RecordAge[], answered: number | undefined): number {
  const latest = (answered ?? -Infinity) + MAX_CLOCK_LEAD_SECONDS;
  return recordTimes(nodes).findLast((seconds) => seconds <= latest) ?? medianRecord(nodes);
}

/** The median of the times of the records of nodes that serve, which a few wrong clocks do not move; 0 without one. */
export function medianRecord(nodes: readonly RecordAge[]): number {
  const times = recordTimes(nodes);
  return times[Math.floor(times.length / 2)] ?? 0;
}

/** In ascending order. */
function recordTimes(nodes: readonly RecordAge[]): readonly number[] {
  return nodes
    .filter((node) => node.updatedSeconds > 0 && REACHABLE.has(livenessOf(node)))
    .map(({ updatedSeconds }) => updatedSeconds)
    .toSorted((a, b) => a - b);
}

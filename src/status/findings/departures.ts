import { toTimestamp } from '#base';
import { livenessOf } from '#cockroach';
import type { NodesResult } from '#collectors';
import { sumOfStores } from './node-metrics.ts';
import type { Departure } from './node-status.ts';

/** How far each decommissioning node is, by its id. */
export type Departures = ReadonlyMap<number, Departure>;

/** The replicas of a node by one of its records. */
interface Sample {
  readonly seconds: number;
  readonly replicas: number;
}

interface Watched {
  /** The first record, at least of those that this exporter has seen. */
  readonly first: Sample;
  /** Those of the last 10 minutes, and the one before. */
  readonly recent: readonly Sample[];
  /** The record with the fewest replicas; the first one of several. */
  readonly least: Sample;
}

const WINDOW_SECONDS = 600;
/** Records are 10 seconds apart: these are more than 10 minutes. */
const MAX_SAMPLES = 64;

/** Watches from record to record how many replicas decommissioning nodes still have, in bounded memory for each. */
export class DepartureHistory {
  #nodes: ReadonlyMap<number, Watched> = new Map();

  /** Takes note of a list of nodes. A node whose record is stale keeps what is known; one with another status is forgotten. */
  add({ nodes }: NodesResult): void {
    const leaving = nodes.filter((node) => livenessOf(node) === 'decommissioning');
    this.#nodes = new Map(
      leaving.flatMap((node) => {
        const { id, isFresh, updatedSeconds: seconds } = node;
        const before = this.#nodes.get(id);
        const replicas = sumOfStores(node, 'replicas');
        const isNew = seconds > (before?.recent.at(-1)?.seconds ?? 0);
        // It does not count them any more: what was known gets old.
        if (isFresh && replicas === undefined) return [];
        if (!isFresh || !isNew || replicas === undefined)
          return before === undefined ? [] : [[id, before]];
        return [[id, follow(before, { seconds, replicas })]];
      }),
    );
  }

  /** Example: 300 replicas at 12:00:00 and 180 at 12:10:00 are 12 a minute: the last 180 take another 15 minutes. */
  read(): Departures {
    return new Map(Array.from(this.#nodes, ([id, watched]) => [id, describe(watched)]));
  }
}

function follow(before: Watched | undefined, now: Sample): Watched {
  if (before === undefined) return { first: now, recent: [now], least: now };
  const begin = now.seconds - WINDOW_SECONDS;
  const after = before.recent.findIndex(({ seconds }) => seconds > begin);
  const kept = after === -1 ? [] : before.recent.slice(Math.max(0, after - 1));
  return {
    first: before.first,
    recent: [...kept, now].slice(-MAX_SAMPLES),
    least: now.replicas < before.least.replicas ? now : before.least,
  };
}

function describe({ first, recent, least }: Watched): Departure {
  const [oldest = first, last = first] = [recent[0], recent.at(-1)];
  const seconds = last.seconds - oldest.seconds;
  const perMinute = seconds > 0 ? (60 * (oldest.replicas - last.replicas)) / seconds : undefined;
  const isStill = last.seconds - least.seconds >= WINDOW_SECONDS;
  return {
    replicasLeft: last.replicas,
    replicasAtFirst: first.replicas,
    firstSeenAt: toTimestamp(first.seconds * 1000) ?? '',
    perMinute,
    secondsLeft: perMinute && perMinute > 0 ? (60 * last.replicas) / perMinute : undefined,
    stillSince: isStill && last.replicas > 0 ? toTimestamp(least.seconds * 1000) : undefined,
  };
}

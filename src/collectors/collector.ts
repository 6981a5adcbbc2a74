import type { CloudApi } from '../cloud/api.ts';
import type { ClusterApi, FailureReason, Reading } from '../cluster/api.ts';
import type { Family } from '../metrics/family.ts';
import type { Sheet } from '../metrics/sheet.ts';

export type { FailureReason, Limit, Reading } from '../cluster/api.ts';

/** One option of a collector, as data: the configuration reads, checks and documents it by this. */
type OptionSpec = { readonly help: string } & (
  | {
      readonly kind: 'integer' | 'number' | 'duration' | 'bytes';
      /** Durations are seconds. */
      readonly default: number;
      readonly min?: number;
      readonly max?: number;
    }
  | { readonly kind: 'boolean'; readonly default: boolean }
  | ({ readonly kind: 'string'; readonly default: string } & TextRules)
  | ({ readonly kind: 'strings'; readonly default: readonly string[] } & TextRules)
  | {
      readonly kind: 'enum';
      readonly values: readonly [string, ...string[]];
      readonly default: string;
    }
  | {
      readonly kind: 'rewrites';
      readonly default: readonly Rewrite[];
      /** Says what is wrong with a regular expression, or undefined. */
      readonly check: (regex: string) => string | undefined;
    }
);

interface TextRules {
  readonly pattern?: RegExp;
  /** What the pattern asks for, in words, with an example. */
  readonly expects?: string;
}

/** The first rewrite whose expression matches a name replaces it. */
export interface Rewrite {
  readonly regex: string;
  readonly replacement: string;
}

type OptionSpecs = Readonly<Record<string, OptionSpec>>;

type OptionValue<S extends OptionSpec> = S extends { readonly values: readonly (infer V)[] }
  ? V
  : S extends { readonly default: number }
    ? number
    : S extends { readonly default: boolean }
      ? boolean
      : S extends { readonly kind: 'strings' }
        ? readonly string[]
        : S extends { readonly kind: 'rewrites' }
          ? readonly Rewrite[]
          : string;

/** The values that the configuration gives for the specs. */
export type OptionValues<S extends OptionSpecs> = { readonly [K in keyof S]: OptionValue<S[K]> };

/** What one poll reads, and what is worth a line in the log although the poll is no failure. */
export interface PollReading extends Reading {
  /** Logged once, not again while each poll says the same. */
  readonly notice: (text: string) => void;
}

/** What a room gets for one poll besides the API and the sheet. */
export interface PollContext<Options, Memory> extends PollReading {
  readonly options: Options;
  /** Value of the label `shard`. */
  readonly shard: string;
  readonly shards: { readonly index: number; readonly count: number };
  /** What outlives a poll of this room on this cluster. */
  readonly memory: Memory;
  /** Wall clock, ms since the epoch. */
  readonly nowMs: () => number;
  /** Number of configured URLs. */
  readonly urls: number;
  /** How far a scan of nodes has come. */
  readonly scanProgress: (done: number, planned: number) => void;
  readonly reasonOf: (error: unknown) => FailureReason;
  /** Tells the label `shard` of a room that learns it by asking: from then on all that is said of it has that label. */
  readonly shardLearned: (shard: string) => void;
}

/** A poll that failed although it wrote something worth publishing. */
export interface CollectFailure {
  readonly reason: FailureReason;
  readonly message: string;
}

/** A room as the poller sees it. */
interface Room<Api, Options, Memory> {
  readonly name: string;
  readonly help: string;
  /** What the user of the API needs, for advice on a forbidden poll: `GRANT SYSTEM VIEWCLUSTERMETADATA`. */
  readonly privilege: string;
  readonly intervalSeconds: number;
  /** Of a whole poll. */
  readonly timeoutSeconds: number;
  /** Maximum share of the time for answers to polls. */
  readonly maxDuty: number;
  readonly enabledByDefault: boolean;
  readonly families: readonly Family[];
  readonly options: OptionSpecs;
  /** True where the options leave nothing to ask: such a collector is not planned at all. */
  readonly isIdle?: (options: Options) => boolean;
  createMemory(): Memory;
  /**
   * Asks the API, folds what comes and writes the sheet once. Throws when there is nothing to
   * publish; returns a failure when the poll failed but the sheet says something all the same.
   */
  collect(
    api: Api,
    sheet: Sheet,
    context: PollContext<Options, Memory>,
  ): Promise<CollectFailure | undefined>;
}

// oxlint-disable-next-line typescript/no-explicit-any -- each room knows its own options and memory
export type ClusterCollector<O = any, M = any> = Room<ClusterApi, O, M> & {
  readonly api: 'cluster';
};
// oxlint-disable-next-line typescript/no-explicit-any -- as above
export type CloudCollector<O = any, M = any> = Room<CloudApi, O, M> & { readonly api: 'cloud' };

export type Collector = ClusterCollector | CloudCollector;

/** Declares a room over the cluster API; the types of its options follow from their specs. */
export function clusterCollector<const S extends OptionSpecs, M>(
  room: Omit<Room<ClusterApi, OptionValues<S>, M>, 'options'> & { readonly options: S },
): ClusterCollector<OptionValues<S>, M> {
  return { ...room, api: 'cluster' };
}

/** Declares a room over the Cloud API. */
export function cloudCollector<const S extends OptionSpecs, M>(
  room: Omit<Room<CloudApi, OptionValues<S>, M>, 'options'> & { readonly options: S },
): CloudCollector<OptionValues<S>, M> {
  return { ...room, api: 'cloud' };
}

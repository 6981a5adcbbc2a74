import { listOf } from './kind.ts';
import type { Kind } from './kind.ts';
import { boolean, bytes, choice, duration, integer, number, text } from './kinds.ts';
import { rewrites } from './rewrites.ts';
import type { CheckRegex, Rewrite } from './rewrites.ts';
import type { Option } from './section.ts';

export type OptionValue = number | boolean | string | readonly string[] | readonly Rewrite[];

interface Numeric {
  readonly default: number;
  readonly min?: number;
  readonly max?: number;
  readonly help: string;
}

interface Textual {
  readonly pattern?: RegExp;
  /** What the pattern asks for, in words, with an example. */
  readonly expects?: string;
  readonly help: string;
}

/** An option of a collector as the collector declares it. Durations are in seconds. */
export type OptionSpec =
  | ({ readonly kind: 'integer' | 'number' | 'duration' | 'bytes' } & Numeric)
  | { readonly kind: 'boolean'; readonly default: boolean; readonly help: string }
  | ({ readonly kind: 'string'; readonly default: string } & Textual)
  | ({ readonly kind: 'strings'; readonly default: readonly string[] } & Textual)
  | {
      readonly kind: 'enum';
      readonly values: readonly [string, ...string[]];
      readonly default: string;
      readonly help: string;
    }
  | {
      readonly kind: 'rewrites';
      readonly default: readonly Rewrite[];
      readonly check: CheckRegex;
      readonly help: string;
    };

/** What the configuration must know of a collector. */
export interface CollectorOptions {
  readonly name: string;
  readonly api: 'cluster' | 'cloud';
  readonly enabledByDefault: boolean;
  readonly intervalSeconds: number;
  readonly timeoutSeconds: number;
  readonly maxDuty: number;
  readonly options: Readonly<Record<string, OptionSpec>>;
}

const SHORTEST_INTERVAL_SECONDS = 1;
const SHORTEST_TIMEOUT_SECONDS = 0.1;
/** Below this, not even the series of the whole cluster would fit. */
export const MIN_SERIES = 500;

/** The rows of one collector: those that every collector has, and its own by their keys. */
export function collectorRows(collector: CollectorOptions) {
  const { name } = collector;
  const path = `collectors.${name}`;
  return {
    ...scheduleRows(collector, path),
    maxSeries: {
      path: `${path}.max_series`,
      kind: integer({ min: MIN_SERIES }),
      help: `Maximum series of ${name} of one cluster; no limit of its own by default.`,
    },
    own: Object.entries(collector.options).map(([key, spec]) => ownRow(`${path}.${key}`, spec)),
  };
}

function scheduleRows(collector: CollectorOptions, path: string) {
  const { name, enabledByDefault, intervalSeconds, timeoutSeconds, maxDuty } = collector;
  return {
    enabled: {
      path: `${path}.enabled`,
      kind: boolean,
      default: enabledByDefault,
      flag: `collector.${name}`,
      help: `Poll ${name}.`,
    },
    interval: {
      path: `${path}.interval`,
      kind: duration({ min: SHORTEST_INTERVAL_SECONDS }),
      default: intervalSeconds,
      help: `Time from the start of one poll of ${name} to the next.`,
    },
    timeout: {
      path: `${path}.timeout`,
      kind: duration({ min: SHORTEST_TIMEOUT_SECONDS }),
      default: timeoutSeconds,
      help: `Longest time that one poll of ${name} may take.`,
    },
    maxAge: {
      path: `${path}.max_age`,
      kind: duration({ min: SHORTEST_INTERVAL_SECONDS }),
      help: 'Age at which data is no longer shown; by default three intervals, but at most one and 10m.',
    },
    maxDuty: {
      path: `${path}.max_duty`,
      kind: number({ above: 0, max: 1 }),
      default: maxDuty,
      help: `Largest share of the time that polls of ${name} may take; the interval stretches to keep it.`,
    },
  };
}

function ownRow(path: string, spec: OptionSpec): Option<OptionValue> & { default: OptionValue } {
  return { path, kind: kindOf(spec), default: spec.default, help: spec.help };
}

function kindOf(spec: OptionSpec): Kind<OptionValue> {
  switch (spec.kind) {
    case 'integer':
      return integer(spec);
    case 'number':
      return number(spec);
    case 'duration':
      return duration(spec);
    case 'bytes':
      return bytes(spec);
    case 'boolean':
      return boolean;
    case 'string':
      return text(spec);
    case 'strings':
      return listOf(text(spec), { mayBeEmpty: true });
    case 'enum':
      return choice(...spec.values);
    default:
      return rewrites(spec.check);
  }
}

/** All rows of a collector as a list. */
export function listCollectorRows(collector: CollectorOptions): readonly Option<unknown>[] {
  const { own, ...common } = collectorRows(collector);
  return [...Object.values(common), ...own];
}

import * as v from 'valibot';
import { quote } from './issues.ts';
import { key } from './keys.ts';
import { formatBytes, formatDuration } from './units.ts';
import {
  anyText,
  boolean,
  bytes,
  choice,
  duration,
  integer,
  list,
  number,
  section,
  text,
  textLike,
} from './values.ts';

/** A regular expression and what a match is replaced by, both as text. */
interface Rewrite {
  readonly regex: string;
  readonly replacement: string;
}

type OptionValue = number | boolean | string | readonly string[] | readonly Rewrite[];

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
type OptionSpec =
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
      /** What is wrong with a regular expression, or undefined. The engine is the collector's choice. */
      readonly check: (regex: string) => string | undefined;
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

const MIN_INTERVAL_SECONDS = 1;
const MIN_TIMEOUT_SECONDS = 0.1;
/** Below this, not even the series of the whole cluster would fit. */
export const MIN_SERIES = 500;

/** The keys that every collector has. */
function commonKeys(collector: CollectorOptions) {
  const { name, enabledByDefault, intervalSeconds, timeoutSeconds, maxDuty } = collector;
  const interval = duration({ min: MIN_INTERVAL_SECONDS });
  const timeout = duration({ min: MIN_TIMEOUT_SECONDS });
  return {
    enabled: key(v.optional(boolean, enabledByDefault), {
      flag: `collector.${name}`,
      help: `Poll ${name}.`,
    }),
    interval: key(v.optional(interval, formatDuration(intervalSeconds)), {
      help: `Time from the start of one poll of ${name} to the next.`,
    }),
    timeout: key(v.optional(timeout, formatDuration(timeoutSeconds)), {
      help: `Maximum duration of one poll of ${name}.`,
    }),
    max_age: key(v.optional(interval), {
      help: 'Age at which data is no longer exported; default: min(3 × interval, interval + 10m).',
    }),
    max_duty: key(v.optional(number({ above: 0, max: 1 }), maxDuty), {
      help: `Maximum share of the time for answers to polls of ${name}; the interval stretches to keep it. Time without an answer does not count.`,
    }),
    max_series: key(v.optional(integer({ min: MIN_SERIES })), {
      help: `Maximum series of ${name} of one cluster; no limit of its own by default.`,
    }),
  };
}

/** The settings of one collector: those that every collector has, and its own options. */
export type CollectorConfig = Readonly<
  v.InferOutput<v.StrictObjectSchema<ReturnType<typeof commonKeys>, undefined>>
> &
  Readonly<Record<string, OptionValue | undefined>>;

/** The block `collectors`, of a cluster or for all. */
export function collectorSections(
  collectors: readonly CollectorOptions[],
): v.GenericSchema<Record<string, unknown>, Record<string, CollectorConfig>> {
  const sections = collectors.map((collector) => {
    const own = Object.entries(collector.options).map(([name, spec]) => [name, optionKey(spec)]);
    const entries = section({ ...commonKeys(collector), ...Object.fromEntries(own) });
    return [collector.name, v.nullish(entries, {})];
  });
  return section(Object.fromEntries(sections));
}

function optionKey({ help, ...spec }: OptionSpec) {
  switch (spec.kind) {
    case 'integer':
      return key(v.optional(integer(spec), spec.default), { help });
    case 'number':
      return key(v.optional(number(spec), spec.default), { help });
    case 'duration':
      return key(v.optional(duration(spec), formatDuration(spec.default)), { help });
    case 'bytes':
      return key(v.optional(bytes(spec), formatBytes(spec.default)), { help });
    case 'boolean':
      return key(v.optional(boolean, spec.default), { help });
    case 'string':
      return key(v.optional(textOf(spec), spec.default), { help });
    case 'strings':
      return key(v.optional(list(textOf(spec)), [...spec.default]), { help });
    case 'enum':
      return key(v.optional(choice(spec.values), spec.default), { help });
    default:
      return key(v.optional(rewrites(spec.check), [...spec.default]), { help });
  }
}

function textOf(spec: Omit<Textual, 'help'>) {
  const { pattern } = spec;
  return pattern === undefined ? text() : textLike({ ...spec, pattern });
}

/** A list of `{ regex, replacement }`, each regex checked by the engine that will run it. */
function rewrites(check: (regex: string) => string | undefined) {
  const regex = v.pipe(
    text('regex'),
    v.check(
      (value) => check(value) === undefined,
      ({ input }) =>
        `${quote(input)} cannot be used: ${check(input)}; the syntax is that of RE2, without lookaround and backreferences`,
    ),
  );
  // An empty replacement removes the match.
  return list(section({ regex, replacement: anyText }), 'is not a list of { regex, replacement }');
}

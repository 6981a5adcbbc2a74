import * as v from 'valibot';
import type { OptionSpec, OptionSpecs, OptionValues } from '#base';
import { queryList } from './query-schema.ts';
import {
  anyText,
  autoOrBoolean,
  boolean,
  choice,
  duration,
  integer,
  key,
  list,
  MIN_TIMEOUT_SECONDS,
  section,
  share,
  text,
  textLike,
  writeDuration,
} from './values.ts';

// The keys of the collectors, for all clusters and for each.

/** The part of a collector that the configuration needs. */
export interface CollectorOptions {
  readonly name: string;
  readonly api: 'cluster' | 'cloud';
  readonly enabledByDefault: boolean;
  readonly intervalSeconds: number;
  readonly timeoutSeconds: number;
  readonly maxDuty: number;
  readonly options: OptionSpecs;
}

/** Rules of a rewrite; `checkRewrites` checks the expressions. An empty replacement removes the match. */
const rewrites = list(
  section({ regex: text('regex'), replacement: anyText }),
  'is not a list of { regex, replacement }',
);

const MIN_INTERVAL_SECONDS = 1;
/** Below this, not even the series of the whole cluster would fit. */
const MIN_SERIES = 500;

/** The settings of one collector, those that every collector has and its own options. Times are seconds. */
export interface CollectorConfig extends Readonly<Partial<OptionValues<OptionSpecs>>> {
  readonly enabled: boolean;
  readonly interval: number;
  readonly timeout: number;
  readonly max_age?: number | undefined;
  readonly max_duty: number;
  readonly max_series: number;
}

/** The options of a collector in a cluster, of the types that the collector declares. */
export function collectorOptions<Options>(
  { collectors }: { readonly collectors: Readonly<Record<string, CollectorConfig>> },
  collector: {
    readonly name: string;
    readonly options: OptionSpecs;
    isLocal?(options: Options): boolean;
  },
): Options {
  const settings: Readonly<Record<string, unknown>> = collectors[collector.name] ?? {};
  const names = Object.keys(collector.options);
  const values = Object.fromEntries(names.map((name) => [name, settings[name]]));
  // Their schema was made of what the collector declares.
  const areOptions = (all: object): all is Options & object => names.every((name) => name in all);
  if (areOptions(values)) return values;
  throw new Error(`${collector.name}: an option has no value`);
}

/** `collectors` of the file: the settings for all clusters, by collector. */
export function commonCollectors(
  collectors: readonly CollectorOptions[],
): v.GenericSchema<unknown, Readonly<Record<string, CollectorConfig>>> {
  return collectorSections(collectors, (schema, usual) => v.optional(schema, usual));
}

/** `collectors` of a cluster: the settings that differ from those for all. */
export function clusterCollectors(
  collectors: readonly CollectorOptions[],
): v.GenericSchema<unknown, Readonly<Record<string, Partial<CollectorConfig>>>> {
  return collectorSections(collectors, (schema) => v.exactOptional(schema));
}

/** A schema that may be absent, with its default as it is written in a file. */
type ToOptional = (schema: v.GenericSchema, usual?: unknown) => v.GenericSchema;

function collectorSections(collectors: readonly CollectorOptions[], optional: ToOptional) {
  const sections = collectors.map((collector) => [
    collector.name,
    v.nullish(collectorSection(collector, optional), {}),
  ]);
  return section(Object.fromEntries(sections));
}

/** The keys that every collector has, and its options. */
function collectorSection(collector: CollectorOptions, optional: ToOptional) {
  const { name, enabledByDefault, intervalSeconds, timeoutSeconds, maxDuty } = collector;
  const interval = duration(MIN_INTERVAL_SECONDS);
  const timeout = duration(MIN_TIMEOUT_SECONDS);
  const options = Object.entries(collector.options).map(([option, spec]) => {
    const usual = spec.kind === 'duration' ? writeDuration(spec.default) : spec.default;
    return [option, key(optional(optionSchema(spec), usual), { help: spec.help })];
  });
  return section({
    enabled: key(optional(boolean, enabledByDefault), {
      flag: `collector.${name}`,
      help: `Poll ${name}.`,
    }),
    interval: key(optional(interval, writeDuration(intervalSeconds)), {
      help: `Interval between the starts of two polls of ${name}.`,
    }),
    timeout: key(optional(timeout, writeDuration(timeoutSeconds)), {
      help: `Maximum duration of one poll of ${name}.`,
    }),
    max_age: key(optional(interval), {
      help: 'Age at which data is no longer exported; default: min(3 × interval, interval + 10m).',
    }),
    max_duty: key(optional(share, maxDuty), {
      help: `Largest share of the time that responses to polls of ${name} may take; beyond it the interval gets longer. Timeouts do not count.`,
    }),
    max_series: key(optional(integer(MIN_SERIES), 250_000), {
      help: `Maximum series of ${name} per cluster; above it the least important ones are dropped and counted.`,
    }),
    ...Object.fromEntries(options),
  });
}

function optionSchema(spec: OptionSpec): v.GenericSchema {
  switch (spec.kind) {
    case 'duration':
      return duration(spec.min);
    case 'integer':
      return integer(spec.min, spec.max);
    case 'boolean':
      return boolean;
    case 'auto':
      return autoOrBoolean;
    case 'enum':
      return choice(spec.values);
    case 'strings':
      return list(textLike(spec.pattern, spec.expects));
    case 'queries':
      return queryList;
    default:
      return rewrites;
  }
}

import { collectorRows, listCollectorRows } from './collector-options.ts';
import type { CollectorOptions } from './collector-options.ts';
import type { CollectorConfig } from './config.ts';
import { isSet, keyOf, openMember, read } from './section.ts';
import type { Option, Section } from './section.ts';

/** Which APIs a cluster is configured with. */
export type ConfiguredApis = Readonly<Record<CollectorOptions['api'], boolean>>;

/** Reads the block of every collector; in `overrides` a cluster may set some keys anew. */
export function readCollectors(
  common: Section,
  overrides: Section,
  collectors: readonly CollectorOptions[],
  apis: ConfiguredApis,
): Record<string, CollectorConfig> {
  const blocks = collectors.map((collector) => {
    const section = openCollector(common, overrides, collector);
    return { collector, section, config: readCollector(section, collector) };
  });
  const isLocal = blocks.some(({ collector, config }) => isLocalRoute(collector.name, config));
  const entries = blocks.map(({ collector, section, config }) => {
    const isChosen = !isLocal || collector.name === 'ranges' || isSwitched(section, collector);
    const enabled = config.enabled && apis[collector.api] && isChosen;
    return [collector.name, { ...config, enabled }] as const;
  });
  return Object.fromEntries(entries);
}

/** An exporter beside each node reads only the ranges of that node; what is asked of the whole cluster must be asked for. */
export function isLocalRoute(name: string, config: CollectorConfig | undefined): boolean {
  return name === 'ranges' && config?.options['route'] === 'local';
}

function isSwitched(section: Section, collector: CollectorOptions): boolean {
  return isSet(section, collectorRows(collector).enabled);
}

function openCollector(common: Section, overrides: Section, collector: CollectorOptions): Section {
  const keys = listCollectorRows(collector).map((row: Option<unknown>) => keyOf(row));
  const forAll = openMember(common, collector.name, keys);
  const own = openMember(overrides, collector.name, keys);
  return { ...own, entries: new Map([...forAll.entries, ...own.entries]) };
}

function readCollector(section: Section, collector: CollectorOptions): CollectorConfig {
  const rows = collectorRows(collector);
  return {
    enabled: read(section, rows.enabled),
    intervalSeconds: read(section, rows.interval),
    timeoutSeconds: read(section, rows.timeout),
    maxAgeSeconds: read(section, rows.maxAge),
    maxDuty: read(section, rows.maxDuty),
    maxSeries: read(section, rows.maxSeries),
    options: Object.fromEntries(rows.own.map((row) => [keyOf(row), read(section, row)])),
  };
}

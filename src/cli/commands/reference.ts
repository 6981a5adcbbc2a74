import { readFileSync } from 'node:fs';
import path from 'node:path';
import { type Command, Option } from 'commander';
import type { Collector } from '../../collectors/collector.ts';
import { COLLECTORS } from '../../collectors/index.ts';
import { findNearest } from '../../config/issues.ts';
import { EXPORTER_FAMILIES } from '../../exporter/cluster-metrics.ts';
import { formatJson } from '../../format.ts';
import { processFamilies } from '../../metrics/exporter-families.ts';
import type { ProcessMetric } from '../../metrics/exporter-metrics.ts';
import type { Family } from '../../metrics/family.ts';
import { ROOT } from '../build.ts';
import { addExamples, usageError } from '../command.ts';

const PAGE = path.join(ROOT, 'docs/metrics.md');

/** One metric, as the reference describes it. */
export interface CatalogueEntry extends ProcessMetric {
  readonly unit: Family['unit'];
  /** Caveats, and what bounds its series. */
  readonly notes: string;
  /** The collector that exports it; undefined for metrics of the exporter itself. */
  readonly collector: string | undefined;
  /** Method and path of the request, below /api/v2 or of the Cloud API; undefined as above. */
  readonly request: string | undefined;
  /** The members of the response that the values come from. */
  readonly field: string | undefined;
}

/** `reference [NAME]`: every metric as docs/metrics.md or as JSON, or one metric for a person. */
export function define(command: Command): void {
  command
    .argument('[name]', 'name of a metric; default: all metrics')
    .addOption(
      new Option('-o, --output <format>', 'Output format.')
        .choices(['markdown', 'json'])
        .default('markdown'),
    );
  addExamples(command, 'reference crdb_up', 'reference --output json');
  command.action((name: string | undefined, { output }: { readonly output: string }) => {
    process.stdout.write(writeReference(output, name));
  });
}

/** The text of docs/metrics.md, or of one metric; JSON with the format `json`. Throws a CommandError on an unknown name. */
export function writeReference(format: string, name?: string): string {
  const catalogue = listCatalogue();
  const isJson = format === 'json';
  if (name === undefined)
    return isJson ? `${formatJson(catalogue, 2)}\n` : readFileSync(PAGE, 'utf8');
  const entry = catalogue.find((listed) => listed.name === name);
  if (entry === undefined) {
    const near = findNearest(
      name,
      catalogue.map((listed) => listed.name),
    );
    const hint = near === undefined ? '' : `; did you mean ${near}?`;
    throw usageError(`there is no metric ${JSON.stringify(name)}${hint}`);
  }
  return isJson ? `${formatJson(entry, 2)}\n` : describeMetric(entry);
}

function describeMetric(entry: CatalogueEntry): string {
  const { request, field } = entry;
  const source = request && `${request}${field === undefined ? '' : `: ${field}`}`;
  const rows: readonly (readonly [string, string | undefined])[] = [
    ['Type', entry.type],
    ['Unit', entry.unit],
    ['Labels', entry.labels.join(', ')],
    ['Collector', entry.collector],
    ['Source', source],
    ['Notes', entry.notes],
  ];
  const lines = rows.flatMap(([title, text]) => (text ? [`${title.padEnd(11)}${text}`] : []));
  return `${entry.name}\n${entry.help}\n\n${lines.join('\n')}\n`;
}

/** Every family: by collector in their order, then the exporter's own, each by name. */
export function listCatalogue(): readonly CatalogueEntry[] {
  return [
    ...COLLECTORS.flatMap((collector) =>
      collector.families.toSorted(byName).map((family) => toEntry(family, collector)),
    ),
    ...EXPORTER_FAMILIES.toSorted(byName).map((family) => toEntry(family)),
  ];
}

function byName(a: Family, b: Family): number {
  return a.name < b.name ? -1 : 1;
}

const WITHOUT_CLUSTER: readonly Family[] = Object.values(processFamilies);

function toEntry(family: Family, collector?: Collector): CatalogueEntry {
  const { name, type, unit, help, notes, field, labels } = family;
  return {
    name,
    type,
    unit,
    // Every series of a cluster has its name.
    labels: WITHOUT_CLUSTER.includes(family) ? labels : ['crdb_cluster', ...labels],
    help,
    notes,
    collector: collector?.name,
    request: family.request ?? collector?.request,
    field,
  };
}

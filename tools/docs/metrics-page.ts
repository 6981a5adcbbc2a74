import { type Collector, COLLECTORS } from '#collectors';
import { type CatalogueEntry, listCatalogue } from '#exporter';
import { createProcessRegistry } from '#metrics';

const INTRODUCTION = `# Metrics

\`crdb-exporter reference\` prints this page, \`crdb-exporter reference NAME\` one metric with its unit;
\`--output json\` prints all for programs.

- A poll replaces all data of its collector. Data has no timestamps: its age is that of
  \`crdb_exporter_collector_last_success_timestamp_seconds\`. Data older than \`max_age\` is no longer exported.
- Braces hold the labels. Every metric of a cluster also has \`crdb_cluster\`, the name of the cluster in the configuration.
- \`shard\` is the number of the exporter that scanned: 0 without sharding, \`shard.name\` with \`route: local\`.
- The type is counter where the name ends in \`_total\`, else gauge where none is given. \`max_series\` of each collector bounds its series.
- *Source* is the field of the response to the request above the table; of nodes and stores also their metric.
- Two exporters of the same cluster export the same series: take the \`max\`, then add up shards, as in
  \`sum by (problem) (max by (problem, shard) (crdb_range_problem_ranges))\`.
`;

const EXPORTER = `## The exporter itself

Always exported, whatever the state of the cluster; counters start at 0.
`;

const PROCESS = `## The process

The default metrics of prom-client, on Linux. The event-loop lag is that since the last scrape.
`;

/** The text of docs/metrics.md. */
export function writeMetricsPage(): string {
  const catalogue = listCatalogue();
  const sections = COLLECTORS.map((collector) => {
    const entries = catalogue.filter((entry) => entry.collector === collector.name);
    return `${writeHeading(collector)}\n${writeTable(entries, collector.request)}`;
  });
  const own = catalogue.filter(({ collector }) => collector === undefined);
  const names = createProcessRegistry()
    .getMetricsAsArray()
    .map(({ name }) => `\`${name}\``)
    .join(', ');
  return [
    INTRODUCTION,
    ...sections,
    `${EXPORTER}\n${writeTable(own)}`,
    `${PROCESS}\n${names}.\n`,
  ].join('\n');
}

function writeHeading(collector: Collector): string {
  const { name, help, intervalSeconds, enabledByDefault, request } = collector;
  const enabled = enabledByDefault ? 'on' : 'off';
  return `## ${name}\n\n${help} Every ${intervalSeconds} s; ${enabled} by default. Request: \`${request}\`.\n`;
}

/** The numbered notes that several metrics share, and a row for each metric. */
function writeTable(entries: readonly CatalogueEntry[], request?: string): string {
  const shared = listSharedNotes(entries);
  const notes = shared.map((note, index) => `${index + 1}. ${note}\n`);
  const rows = entries.map((entry) => [
    writeFamily(entry),
    writeMeaning(entry, shared),
    ...(request === undefined ? [] : [writeSource(entry, request)]),
  ]);
  const titles = ['Family', 'Meaning', ...(request === undefined ? [] : ['Source'])];
  const lines = [titles, titles.map(() => '---'), ...rows].map(
    (cells) => `| ${cells.map(escape).join(' | ')} |\n`,
  );
  return [...notes, ...(notes.length === 0 ? [] : ['\n']), ...lines].join('');
}

/** Name, labels, and the type unless it is evident: `crdb_node_metric{node_id,key}` untyped. */
function writeFamily({ name, labels, type }: CatalogueEntry): string {
  const others = labels.filter((label) => label !== 'crdb_cluster');
  const braces = others.length === 0 ? '' : `{${others.join(',')}}`;
  const isEvident = type === 'gauge' || name.endsWith('_total');
  return `\`${name}${braces}\`${isEvident ? '' : ` ${type}`}`;
}

function splitNotes({ notes }: CatalogueEntry): readonly string[] {
  return notes === '' ? [] : notes.split(/(?<=\.) /);
}

/** Sentences that the notes of at least two metrics have in common, in their order. */
function listSharedNotes(entries: readonly CatalogueEntry[]): readonly string[] {
  const sentences = entries.flatMap(splitNotes);
  const shared = sentences.filter(
    (sentence) => sentences.filter((other) => other === sentence).length >= 2,
  );
  return [...new Set(shared)];
}

/** HELP and notes; a shared note is its number: `Bytes read per second. (1, 3)`. */
function writeMeaning(entry: CatalogueEntry, shared: readonly string[]): string {
  const notes = splitNotes(entry);
  const numbers = notes.flatMap((note) =>
    shared.includes(note) ? [shared.indexOf(note) + 1] : [],
  );
  const single = notes.filter((note) => !shared.includes(note));
  const references = numbers.length === 0 ? [] : [`(${numbers.join(', ')})`];
  return [entry.help, ...single, ...references].join(' ');
}

/** The field, or the metric of the node or store; the request too, where it is not that of the collector. */
function writeSource({ request, field = '' }: CatalogueEntry, usual: string): string {
  const source = field.replace(/^(?:store_)?metrics /, '');
  return request === usual ? source : `\`${request}\` ${source}`.trim();
}

/** Characters that would end a cell or start emphasis in Markdown. */
function escape(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('*', '\\*');
}

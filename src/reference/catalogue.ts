import type { Collector } from '../collectors/collector.ts';
import type { Family } from '../metrics/family.ts';
import { OUTCOME_FAMILIES } from '../metrics/outcome-families.ts';
import { SELF_FAMILIES } from '../metrics/self-families.ts';
import { seriesFactors, writeFactors } from './series.ts';

/** One metric as a reader wants to know it. */
export interface CatalogueEntry {
  readonly name: string;
  readonly type: Family['type'];
  readonly unit: string;
  /** `crdb_cluster` included where every series has it. */
  readonly labels: readonly string[];
  readonly meaning: string;
  /** The collector that writes it; undefined for what the exporter says of itself. */
  readonly collector: string | undefined;
  /** Method and path of the request, below /api/v2 or as the Cloud API has it; undefined as above. */
  readonly endpoint: string | undefined;
  /** Members of the answer; undefined where a whole answer is counted. */
  readonly field: string | undefined;
  /** Upper bound of its series for one cluster in one exporter. */
  readonly series: string;
}

/** What belongs to the process and so to no cluster. */
const OF_PROCESS = /^crdb_exporter_(build_info|config_|web_)/;

/** Every family, by collector in their order and then the exporter's own, each by name. */
export function listCatalogue(collectors: readonly Collector[]): readonly CatalogueEntry[] {
  const own = [...OUTCOME_FAMILIES, ...SELF_FAMILIES];
  return [
    ...collectors.flatMap((room) => byName(room.families).map((family) => describe(family, room))),
    ...byName(own).map((family) => describe(family, undefined)),
  ];
}

function byName(families: readonly Family[]): readonly Family[] {
  return families.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

function describe(family: Family, room: Collector | undefined): CatalogueEntry {
  const source = room === undefined ? undefined : readSource(family.help);
  return {
    name: family.name,
    type: family.type,
    unit: unitOf(family),
    labels: OF_PROCESS.test(family.name) ? family.labels : ['crdb_cluster', ...family.labels],
    meaning: source?.meaning ?? family.help,
    collector: room?.name,
    endpoint: source?.endpoint ?? (room === undefined ? undefined : commonEndpoint(room)),
    field: source?.field,
    series: writeFactors(seriesFactors(family)),
  };
}

interface Source {
  readonly meaning: string;
  readonly endpoint?: string;
  readonly field?: string;
}

/** HELP texts name their source in brackets: `(GET /nodes/, liveness_status)`; a room of one endpoint may leave it out. */
function readSource(help: string): Source {
  const full = / \((GET \/[^\s,)]*)(?:, ([^)]+))?\)/.exec(help);
  const match = full ?? / \(()((?:[a-z_]+)(?:\.[a-z_]+)*(?:, [a-z_]+)?)\)/.exec(help);
  if (match === null) return { meaning: help };
  const [bracket, endpoint, field] = match;
  return {
    meaning: help.replace(bracket, ''),
    ...(endpoint ? { endpoint } : {}),
    ...(field === undefined ? {} : { field }),
  };
}

/** The request that most families of the room come from, for those that do not name one. */
function commonEndpoint({ name, families }: Collector): string {
  if (name === 'ranges') return 'GET /nodes/{node_id}/ranges/';
  const named = families.flatMap(({ help }) => readSource(help).endpoint ?? []);
  const [first] = named;
  if (first === undefined) {
    throw new Error(`collector ${name}: no HELP text names its request; write (GET /path, field)`);
  }
  return first;
}

const UNITS: readonly (readonly [pattern: RegExp, unit: string])[] = [
  [/_by_[a-z_]+$/, 'count'],
  [/_cpu_seconds_per_second$/, 'CPU seconds per second'],
  [/_bytes_per_second$/, 'bytes per second'],
  [/_per_second$/, 'per second'],
  [/_timestamp_seconds$/, 'Unix time in seconds'],
  [/_seconds(_total)?$/, 'seconds'],
  [/_bytes(_total)?$/, 'bytes'],
  [/_ratio$/, 'ratio, 0 to 1'],
  [/_info$/, 'always 1'],
  [/_(code|hash)$/, 'number'],
  [
    /_(up|success|successful|disabled|exists|hit|errors|liveness|status|health|breaker_state)$/,
    '0 or 1',
  ],
  [/_metric$/, 'that of its key'],
];

function unitOf({ name }: Family): string {
  return UNITS.find(([pattern]) => pattern.test(name))?.[1] ?? 'count';
}

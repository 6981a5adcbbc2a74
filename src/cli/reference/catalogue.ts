import type { Collector } from '../../collectors/collector.ts';
import { COLLECTOR_FAMILIES } from '../../metrics/collector-families.ts';
import { CLUSTER_FAMILIES, PROCESS_FAMILIES } from '../../metrics/exporter-families.ts';
import type { Family, SeriesFactor } from '../../metrics/family.ts';

/** One metric, as the reference describes it. */
export interface CatalogueEntry {
  readonly name: string;
  readonly type: Family['type'];
  readonly unit: string;
  /** `crdb_cluster` included where every series has it. */
  readonly labels: readonly string[];
  readonly help: string;
  readonly notes: string;
  /** The collector that exports it; undefined for metrics of the exporter itself. */
  readonly collector: string | undefined;
  /** Method and path of the request, below /api/v2 or of the Cloud API; undefined as above. */
  readonly request: string | undefined;
  /** Members of the response; undefined where whole responses or elements are counted. */
  readonly field: string | undefined;
  /** Upper bound of its series for one cluster in one exporter, as `8 × nodes`. */
  readonly series: string;
}

/** Every family: by collector in their order, then the exporter's own, each by name. */
export function listCatalogue(collectors: readonly Collector[]): readonly CatalogueEntry[] {
  const ofCluster = [...CLUSTER_FAMILIES, ...COLLECTOR_FAMILIES];
  const own = [...PROCESS_FAMILIES, ...ofCluster].toSorted(byName);
  return [
    ...collectors.flatMap((collector) =>
      collector.families.toSorted(byName).map((family) => describe(family, collector)),
    ),
    ...own.map((family) => describe(family, undefined)),
  ];
}

function byName(a: Family, b: Family): number {
  return a.name < b.name ? -1 : 1;
}

function describe(family: Family, collector: Collector | undefined): CatalogueEntry {
  const { name, type, unit, help, notes, field } = family;
  return {
    name,
    type,
    unit,
    labels: PROCESS_FAMILIES.includes(family) ? family.labels : ['crdb_cluster', ...family.labels],
    help,
    notes,
    collector: collector?.name,
    request: family.request ?? collector?.request,
    field,
    series: formatBound(family.series),
  };
}

/** `1` for a single series. */
function formatBound(factors: readonly SeriesFactor[]): string {
  const texts = factors.map((factor) => {
    const terms = listTerms(factor).join(' + ');
    return typeof factor === 'object' && factor.plus !== undefined ? `(${terms})` : terms;
  });
  return texts.length === 0 ? '1' : texts.join(' × ');
}

function listTerms(factor: SeriesFactor): readonly string[] {
  if (typeof factor !== 'object') return [String(factor)];
  return [factor.option, ...(factor.plus === undefined ? [] : listTerms(factor.plus))];
}

/**
 * Upper bound of the series of a family: `counts` are those of the cluster (nodes, stores), `options` the settings of
 * the collector. A count that is not known is 1.
 */
export function boundOf(
  { series }: Pick<Family, 'series'>,
  counts: Readonly<Record<string, number>>,
  options: Readonly<Record<string, unknown>> = {},
): number {
  const valueOf = (factor: SeriesFactor): number => {
    if (typeof factor === 'number') return factor;
    if (typeof factor === 'string') return counts[factor] ?? 1;
    const value = options[factor.option];
    return (Array.isArray(value) ? value.length : Number(value ?? 0)) + valueOf(factor.plus ?? 0);
  };
  return series.reduce<number>((product, factor) => product * valueOf(factor), 1);
}

import type { Collector } from '../../collectors/collector.ts';
import { COLLECTORS } from '../../collectors/index.ts';
import { COLLECTOR_FAMILIES } from '../../metrics/collector-families.ts';
import { CLUSTER_FAMILIES, PROCESS_FAMILIES } from '../../metrics/exporter-families.ts';
import type { Family, SeriesFactor } from '../../metrics/family.ts';

/** One metric, as the reference describes it. */
export type CatalogueEntry = Readonly<ReturnType<typeof describe>>;

/** Every family: by collector in their order, then the exporter's own, each by name. */
export function listCatalogue(): readonly CatalogueEntry[] {
  const own = [...PROCESS_FAMILIES, ...CLUSTER_FAMILIES, ...COLLECTOR_FAMILIES];
  return [
    ...COLLECTORS.flatMap((collector) =>
      collector.families.toSorted(byName).map((family) => describe(family, collector)),
    ),
    ...own.toSorted(byName).map((family) => describe(family)),
  ];
}

function byName(a: Family, b: Family): number {
  return a.name < b.name ? -1 : 1;
}

function describe(family: Family, collector?: Collector) {
  const { name, type, unit, help, notes, field } = family;
  return {
    name,
    type,
    unit,
    /** `crdb_cluster` included where every series has it. */
    labels: PROCESS_FAMILIES.includes(family) ? family.labels : ['crdb_cluster', ...family.labels],
    help,
    notes,
    /** The collector that exports it; undefined for metrics of the exporter itself. */
    collector: collector?.name,
    /** Method and path of the request, below /api/v2 or of the Cloud API; undefined as above. */
    request: family.request ?? collector?.request,
    field,
    /** Upper bound of its series for one cluster in one exporter, as `8 × nodes`. */
    series: formatBound(family.series),
  };
}

/** `1` for a single series. */
function formatBound(factors: readonly SeriesFactor[]): string {
  const texts = factors.map((factor) => {
    const terms = listTerms(factor);
    return terms.length === 1 ? terms[0] : `(${terms.join(' + ')})`;
  });
  return texts.join(' × ') || '1';
}

function listTerms(factor: SeriesFactor): readonly string[] {
  if (typeof factor !== 'object') return [String(factor)];
  return [factor.option, ...(factor.plus === undefined ? [] : listTerms(factor.plus))];
}

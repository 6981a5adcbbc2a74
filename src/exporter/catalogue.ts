import { type Collector, COLLECTORS } from '#collectors';
import { type Family, processFamilies } from '#metrics';
import { EXPORTER_FAMILIES } from './measure-cluster.ts';

/** One metric, as the reference describes it. */
export interface CatalogueEntry extends Pick<Family, 'name' | 'type' | 'unit' | 'labels' | 'help'> {
  /** Caveats, and what bounds its series. */
  readonly notes: string;
  /** The collector that exports it; undefined for metrics of the exporter itself. */
  readonly collector: string | undefined;
  /** Method and path of the request, below /api/v2 or of the Cloud API; undefined as above. */
  readonly request: string | undefined;
  /** The members of the response that the values come from. */
  readonly field: string | undefined;
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

import {
  CustomVariableBuilder,
  DatasourceVariableBuilder,
  QueryVariableBuilder,
  VariableHide,
  VariableRefresh,
  VariableSort,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { DATA_SOURCE } from './panels.ts';

/** Series of the selected cluster. */
export const S = 'job=~"$job", crdb_cluster="$cluster"';
/** Recorded series of the selected cluster: they have no job. */
export const R = 'crdb_cluster="$cluster"';
/** Recorded series, and series, of the selected clusters. */
export const R_MANY = 'crdb_cluster=~"$cluster"';
export const S_MANY = `job=~"$job", ${R_MANY}`;
/** The value of All, as a regular expression. */
const ALL = '.+';

export function dataSourceVariable(): DatasourceVariableBuilder {
  return new DatasourceVariableBuilder('datasource').label('Data source').type('prometheus');
}

/** The jobs of exporters, or those that match a regular expression, written as a string of PromQL. */
export function jobVariable(matching?: string): QueryVariableBuilder {
  if (matching === undefined) return many('job', 'Job', 'label_values(crdb_up, job)');
  const jobs = many('job', 'Job', `label_values(crdb_up{job=~${matching}}, job)`);
  return jobs.allValue(String(JSON.parse(matching)));
}

export function clusterVariable(): QueryVariableBuilder {
  return query('cluster', 'Cluster', 'label_values(crdb_up{job=~"$job"}, crdb_cluster)');
}

export function clustersVariable(): QueryVariableBuilder {
  return many('cluster', 'Cluster', 'label_values(crdb_up{job=~"$job"}, crdb_cluster)');
}

export function nodeVariable(): QueryVariableBuilder {
  const definition = `label_values(crdb_node_liveness{${S}}, node_id)`;
  // oxlint-disable-next-line unicorn/no-array-sort -- no array: the builder's order of the values
  return many('node', 'Node', definition).sort(VariableSort.NumericalAsc);
}

/** One value of a label. */
export function query(name: string, label: string, definition: string): QueryVariableBuilder {
  return (
    new QueryVariableBuilder(name)
      .label(label)
      .datasource(DATA_SOURCE)
      .query({ query: definition, refId: name })
      .definition(definition)
      .refresh(VariableRefresh.OnTimeRangeChanged)
      // oxlint-disable-next-line unicorn/no-array-sort -- as above
      .sort(VariableSort.NaturalAsc)
  );
}

/** Several values of a label, or all. */
export function many(name: string, label: string, definition: string): QueryVariableBuilder {
  return query(name, label, definition)
    .multi(true)
    .includeAll(true)
    .allValue(ALL)
    .current({ selected: true, text: 'All', value: '$__all' });
}

export function choice(
  name: string,
  label: string,
  values: readonly string[],
): CustomVariableBuilder {
  const [first = ''] = values;
  return new CustomVariableBuilder(name)
    .label(label)
    .values(values.join(','))
    .options(values.map((value) => ({ text: value, value, selected: value === first })))
    .current({ selected: true, text: first, value: first });
}

/** Several of these values in their order, or all. */
export function choices(
  name: string,
  label: string,
  values: readonly string[],
): CustomVariableBuilder {
  const all = { text: 'All', value: '$__all', selected: true };
  return new CustomVariableBuilder(name)
    .label(label)
    .values(values.join(','))
    .options([all, ...values.map((value) => ({ text: value, value, selected: false }))])
    .multi(true)
    .includeAll(true)
    .allValue(ALL)
    .current(all);
}

/** The address of DB Console for links, from the configuration of the exporter; empty when not configured. */
export function consoleVariable(): QueryVariableBuilder {
  return query('console', 'DB Console', `label_values(crdb_cluster_info{${S}}, console_url)`).hide(
    VariableHide.HideVariable,
  );
}

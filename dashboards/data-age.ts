/** The age of the oldest data as a share of the age at which the exporter drops it, by labels. */
export function dataAge(selector: string, labels = ''): string {
  const by = labels === '' ? 'max' : `max by (${labels}) `;
  const [age, limit] = ['data_age_seconds:min', 'max_age_seconds:max'].map(
    (name) => `crdb_cluster_collector_shard:${name}{${selector}}`,
  );
  return `${by}(${age} / ${limit})`;
}

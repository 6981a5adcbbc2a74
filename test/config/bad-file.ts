import { loadText, problemsOf } from './loading.ts';

/** The beginning of a file with one cluster, for more keys of `cluster_api`. */
export const API = 'clusters:\n  - name: prod\n    cluster_api:\n';
/** The same with its URLs: usable as it is. */
export const CLUSTER = `${API}      urls: ["https://crdb:8080"]\n`;
export const NO_CLUSTER =
  'no cluster is configured: list one under clusters in the file of --config.file, or give --cluster.url; `crdb-exporter demo` needs neither';

/** What is wrong with each of these files, a line for each problem. */
export async function problemsOfEach(files: readonly string[]): Promise<string> {
  const found = await Promise.all(files.map((yaml) => problemsOf(loadText(yaml))));
  return `\n${found.flat().join('\n')}\n`;
}

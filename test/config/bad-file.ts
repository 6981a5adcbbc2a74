import { expect, test } from 'vitest';
import { loadText, problemsOf } from './loading.ts';
import type { Loading } from './loading.ts';

/** The beginning of a file with one cluster, for more keys of `cluster_api`. */
export const API = 'clusters:\n  - name: prod\n    cluster_api:\n';
/** The same with its URLs: usable as it is. */
export const CLUSTER = `${API}      urls: ["https://crdb:8080"]\n`;
export const NO_CLUSTER =
  'no cluster is configured: list one under clusters, or give --cluster.url; `crdb-exporter demo` needs neither';

/** A subject, the file, and the problems to report, each without the name of the file. */
export type BadFile = readonly [
  about: string,
  yaml: string,
  problems: readonly string[],
  beside?: Loading,
];

/** One test for each file: exactly these problems are reported. */
export function testBadFiles(files: readonly BadFile[]): void {
  for (const [about, yaml, problems, beside] of files) {
    test(`${about} is reported with its place and its remedy`, async () => {
      const found = await problemsOf(loadText(yaml, beside));
      expect(found).toEqual(problems.map((problem) => `exporter.yml:${problem}`));
    });
  }
}

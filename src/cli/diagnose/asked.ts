import type { ClusterApi } from '../../cluster/api.ts';
import type { ClusterConfig } from '../../config/schema.ts';
import type { Reading } from '../../http/reading.ts';
import type { Operation } from '../advice.ts';
import { type Finding, findingOf, type Verdict } from './finding.ts';
import type { Recorder } from './recorder.ts';

const TARGET = 'cluster API';

/** What every question to a cluster needs, and where its answer is noted. */
export interface Asked {
  readonly api: ClusterApi;
  readonly config: ClusterConfig;
  readonly reading: Reading;
  readonly recorder: Recorder;
  readonly findings: Finding[];
}

/** Notes what was seen of the cluster API. */
export function add(
  { findings }: Asked,
  check: string,
  verdict: Verdict,
  ...[detail, advice]: readonly [detail: string, advice?: string]
): void {
  findings.push({ check, target: TARGET, verdict, detail, advice });
}

/** Notes a failed request; a fault that costs nothing is a warning. Throws what is no failed request. */
export function addFailure(
  { findings, config }: Asked,
  error: unknown,
  about: { readonly check: string; readonly operation: Operation; readonly verdict?: Verdict },
): void {
  const finding = findingOf(error, { ...about, target: TARGET, config });
  findings.push({ ...finding, verdict: about.verdict ?? finding.verdict });
}

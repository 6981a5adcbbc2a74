import { startSimulator } from '../../../simulator/index.ts';
import { runHere } from '../run.ts';

export type Options = NonNullable<Parameters<typeof startSimulator>[0]>;

interface Finding {
  readonly check: string;
  readonly target: string;
  readonly verdict: string;
  readonly detail: string;
  readonly advice?: string;
}

export interface Diagnosis {
  readonly code: number | null;
  readonly findings: readonly Finding[];
  /** The one finding of a check. */
  readonly of: (check: string) => Finding | undefined;
}

/** A small cluster. */
export function simulate(options: Options = {}) {
  const small = { nodes: 3, ranges: 30, sessions: 20, faultyNodes: false } as const;
  return startSimulator({ ...small, metricKeys: 'useful', ...options });
}

/** What `diagnose` finds of one cluster. */
export async function diagnoseBy(...flags: readonly string[]): Promise<Diagnosis> {
  const { code, out } = await runHere(['diagnose', '--output', 'json', ...flags]);
  const report: { clusters: readonly { findings: readonly Finding[] }[] } = JSON.parse(out);
  const findings = report.clusters.flatMap((cluster) => cluster.findings);
  return { code, findings, of: (check) => findings.find((one) => one.check === check) };
}

import type { Sheet } from '../../metrics/sheet.ts';
import type { Snapshot } from '../../metrics/snapshot.ts';
import type { Poller } from '../../poll/poller.ts';

/** A collector as the pages see it. */
export type CollectorSource = Pick<
  Poller,
  'plan' | 'outcome' | 'snapshot' | 'isPolling' | 'nextPollMs'
>;

/** A configured cluster as the pages see it: what its polls left behind. No page asks a cluster. */
export interface ClusterSource {
  readonly name: string;
  /** False: only /probe asks it. */
  readonly isPolled: boolean;
  readonly pollers: readonly CollectorSource[];
  snapshots(isChosen: (collector: string) => boolean): readonly Snapshot[];
  outcomes(isChosen: (collector: string) => boolean): Sheet;
}

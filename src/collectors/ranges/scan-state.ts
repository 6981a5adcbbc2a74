import { WallClockSteps } from '#base';
import type { RangeRoute } from '#cockroach';
import type { CollectorPoll } from '../collector.ts';
import { DescriptorReading } from './descriptor-reader.ts';
import { IgnoringUrls } from './ignoring-urls.ts';
import { GapHistory } from './key-space.ts';
import { KnownRanges } from './known-ranges.ts';
import { LeftOvers } from './left-overs.ts';
import { HotRanges, ProblemRanges, TopTables } from './lists.ts';
import { Members } from './members.ts';
import { ScanClock } from './scan-clock.ts';
import type { Verification } from './verification.ts';

/** State of a scan that the next one continues: of another cluster there is a new one, and a scan of both fails. */
export class RangesState {
  /** The lowest id of the nodes with which the next scan begins. */
  firstNodeId = 0;
  /** Number of scans whose lists were read. */
  scans = 0;
  /** The servers of this cluster ignore `remote_node_id`. */
  gatewayOnly = false;
  readonly clock = new ScanClock();
  readonly known = new KnownRanges();
  readonly members = new Members();
  readonly reading = new DescriptorReading();
  readonly gaps = new GapHistory();
  readonly leftOvers = new LeftOvers();
  readonly hot = new HotRanges();
  readonly problems = new ProblemRanges();
  readonly wallClock = new WallClockSteps();
  readonly tables = new TopTables();
  /** Continues to read descriptors until the next scan; undefined before the first, and for a part of a cluster. */
  verification: Verification | undefined;
  /** The store of each node that was ever read and has no other. */
  readonly onlyStores = new Map<number, number>();
  /** Id of the node beside this exporter, with `route: local`; 0 until its first response. */
  localNodeId = 0;
  /** A node of this cluster has sent requests, reads, bytes or CPU, as newer servers do. */
  sendsDetails = false;
  /** URLs that list all ranges where some are asked for. */
  readonly ignoring = new IgnoringUrls();
}

/** The options of a scan and what it shares with the other scans of its cluster. */
export type ScanContext = CollectorPoll<
  {
    readonly route: RangeRoute | 'auto';
    readonly page_limit: number;
    readonly node_timeout: number;
    readonly concurrency: number;
    readonly descriptor_max_age: number;
    readonly hot_ranges: number;
    readonly problem_ranges: number;
    readonly top_tables: number;
  },
  RangesState
>;

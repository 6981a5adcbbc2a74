import { type OptionSpecs, type OptionValues, WallClockSteps } from '#base';
import type { CollectorPoll } from '../collector.ts';
import { DescriptorReading } from './descriptor-reader.ts';
import { HotRanges } from './hot-ranges.ts';
import { IgnoringUrls } from './ignoring-urls.ts';
import { GapHistory } from './key-space.ts';
import { KnownRanges } from './known-ranges.ts';
import { LeftOvers } from './left-overs.ts';
import { Members } from './members.ts';
import { MAX_REMEMBERED, ProblemRanges } from './problem-ranges.ts';
import { ScanClock } from './scan-clock.ts';
import { TopTables } from './top-tables.ts';
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
  /** The replicas that live nodes did not have in the last scan of the whole cluster, each as id of the range and of the node. */
  absent: ReadonlySet<string> = new Set();
  readonly hot = new HotRanges();
  readonly problems = new ProblemRanges();
  readonly wallClock = new WallClockSteps();
  readonly tables = new TopTables();
  /** Continues to read descriptors until the next scan; undefined before the first, and for a part of a cluster. */
  verification: Verification | undefined;
  /** Id of the node beside this exporter, with `route: local`; 0 until its first response. */
  localNodeId = 0;
  /** A node of this cluster has sent requests, reads, bytes or CPU, as newer servers do. */
  sendsDetails = false;
  /** URLs that list all ranges where some are asked for. */
  readonly ignoring = new IgnoringUrls();
}

export const OPTIONS = {
  page_limit: {
    kind: 'integer',
    default: 0,
    min: 0,
    help: 'Ranges per request; 0 reads each node in one response. For every request the database node lists all its ranges, its stores in another order each time, so pages of a node with several stores do not fit together, and the node fails.',
  },
  node_timeout: {
    kind: 'duration',
    default: 120,
    min: 0.1,
    help: 'Maximum time to the headers of the list of one node, which it sends after all of its work; in place of cluster_api.timeout, and within the timeout of the poll.',
  },
  concurrency: {
    kind: 'integer',
    default: 2,
    min: 1,
    help: 'Nodes that are read concurrently.',
  },
  route: {
    kind: 'enum',
    values: ['auto', 'gateway', 'proxy', 'local'],
    default: 'auto',
    help: 'How a node is queried: through the configured URLs in turn (gateway), at the node itself through one of them (proxy), by proxy where the servers support it (auto), or only the node of the one URL (local), for an exporter beside each node.',
  },
  descriptor_max_age: {
    kind: 'duration',
    default: 1800,
    min: 0,
    help: 'Age at which the descriptor of a range proves nothing any more; it is read again at half of it. With 0 none is read, and which nodes may stop is not known.',
  },
  hot_ranges: {
    kind: 'integer',
    default: 20,
    min: 0,
    max: 1_000,
    help: 'Number of hottest ranges to list, by queries and again by CPU.',
  },
  problem_ranges: {
    kind: 'integer',
    default: 20,
    min: 0,
    max: MAX_REMEMBERED,
    help: 'Number of ranges to list for each problem, the oldest first.',
  },
  top_tables: {
    kind: 'integer',
    default: 20,
    min: 0,
    max: 1_000,
    help: 'Number of tables to show by queries, by CPU, by ranges and by problems; the rest is summed up.',
  },
} as const satisfies OptionSpecs;

/** The options of a scan and what it shares with the other scans of its cluster. */
export type ScanContext = CollectorPoll<OptionValues<typeof OPTIONS>, RangesState>;

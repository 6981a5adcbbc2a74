import { MAX_REMEMBERED } from './problem-ranges.ts';

/** As the configuration has them. */
export const OPTIONS = {
  page_limit: {
    kind: 'integer',
    default: 20_000,
    min: 1,
    help: 'Ranges per request. Every request costs the database node a list of all its ranges, so few large ones are cheapest.',
  },
  concurrency: {
    kind: 'integer',
    default: 2,
    min: 1,
    help: 'Nodes that are read at a time.',
  },
  route: {
    kind: 'enum',
    values: ['auto', 'gateway', 'proxy', 'local'],
    default: 'auto',
    help: 'How a node is asked: by the configured URLs in turn (gateway), by the node itself through one of them (proxy), proxy where the servers can (auto), or only the node of the one URL (local), for an exporter beside each node.',
  },
  hot_ranges: {
    kind: 'integer',
    default: 20,
    min: 0,
    max: 1_000,
    help: 'Hottest ranges that are listed.',
  },
  problem_ranges: {
    kind: 'integer',
    default: 20,
    min: 0,
    max: MAX_REMEMBERED,
    help: 'Ranges that are listed for each problem, the oldest first.',
  },
} as const;

import { RequestError } from '../http/errors.ts';
import type { PollStats } from '../http/poll-stats.ts';

// Far above the largest real cluster. A server that invents more of a kind would fill the memory: its answer is not read
// to the end, and the poll fails with the reason `limit`. docs/reliability.md lists them.

/** The largest size of an element of a listing: the largest honest one (a node with many stores, a table with many grants) has half a megabyte. */
export const ELEMENT_LIMITS = { maxElementBytes: 16 * 1024 * 1024, maxDepth: 64 };
/** Nodes of a cluster, also those that sessions, errors and ranges name. */
export const MAX_NODES = 10_000;
/** Stores of all nodes together. */
export const MAX_STORES = 50_000;
/** Stores of one node. */
export const MAX_NODE_STORES = 1_000;
/** Replicas of one node. */
export const MAX_NODE_REPLICAS = 2_000_000;
/** Values of all nodes and stores. One that brings its own text, a tier or a key chosen by a prefix, counts as four. */
export const MAX_NODE_VALUES = 1_500_000;
/** Distinct hosts of clients, of all nodes together. */
export const MAX_CLIENT_HOSTS = 1_000_000;

/** Throws when an answer holds more of a kind (`nodes`) than any cluster has; `what` is the answer (`sessions`). */
export function assertWithin(
  { limits }: Pick<PollStats, 'limits'>,
  what: string,
  kind: string,
  count: number,
  max: number,
): void {
  if (count <= max) return;
  limits.add('items');
  throw new RequestError('limit', `${what}: more than ${max} ${kind}`, { limit: 'items' });
}

import { cloud } from './cloud/collector.ts';
import type { Collector } from './collector.ts';
import { network } from './network/collector.ts';
import { nodes } from './nodes/collector.ts';
import { ranges } from './ranges/collector.ts';
import { sessions } from './sessions/collector.ts';
import { sql } from './sql/collector.ts';
import { tables } from './tables/collector.ts';
import { users } from './users.ts';

/** Every collector there is, in the order of the documentation. All that names collectors follows from this list. */
export const COLLECTORS: readonly Collector[] = [
  nodes,
  ranges,
  sessions,
  network,
  sql,
  users,
  tables,
  cloud,
];

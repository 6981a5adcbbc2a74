import { cloud } from './cloud.ts';
import type { Collector } from './collector.ts';
import { nodes } from './nodes.ts';
import { ranges } from './ranges.ts';
import { sessions } from './sessions.ts';
import { tables } from './tables.ts';
import { users } from './users.ts';

/** Every collector there is, in the order of the documentation. All that names collectors follows from this list. */
export const COLLECTORS: readonly Collector[] = [nodes, ranges, sessions, users, tables, cloud];

import { queryObjects } from 'node:v8';

/** Maps in memory, after what is no longer used was given back. */
export function countMaps(): number {
  return queryObjects(Map, { format: 'count' });
}

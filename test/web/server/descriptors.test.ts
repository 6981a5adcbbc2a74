import { expect, test } from 'vitest';
import { connectionsFor } from '../../../src/web/server/connections.ts';

test.each([
  [64, 12],
  [10, 8],
  [256, 108],
  [1_024, 492],
  [2_040, 1_000],
  [1_048_576, 1_000],
])('of %i descriptors, %i are for connections of clients', (descriptors, connections) => {
  expect(connectionsFor(descriptors)).toBe(connections);
});

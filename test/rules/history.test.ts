import { expect, test } from 'vitest';
import { needsHistory } from './history.ts';

test.each([
  ['crdb_a or crdb_b', false],
  ['crdb_a offset 1d', true],
  ['crdb_a * crdb_b offset 1d', true],
  // An offset is of the last operand, as Prometheus reads it: crdb_a is known at once.
  ['crdb_a or crdb_b offset 1d', false],
  ['crdb_a or 2 * crdb_b offset 1d', false],
  ['crdb_a offset 1d or crdb_b offset 1d', true],
])('whether "%s" needs a history: %s', (expr, expected) => {
  expect(needsHistory(expr)).toBe(expected);
});

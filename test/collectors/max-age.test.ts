import { expect, test } from 'vitest';
import { defaultMaxAgeSeconds } from '../../src/collectors/collector.ts';

test('data is shown for three intervals, but at most one and ten minutes', () => {
  expect([15, 300, 3_600].map(defaultMaxAgeSeconds)).toEqual([45, 900, 4_200]);
});

import { expect, test } from 'vitest';
import { ago, pollListing, queryOf, sessionOf } from './listing.ts';

test('sessions and queries by age are cumulative; those without a start are only in the last bucket', async () => {
  const ages = [0, 60, 61, 600, 3600, 86_400, 86_401];
  const queryAges = [0, 1, 2, 60, 600, 3601];
  const { of } = await pollListing([
    ...ages.map((age) => sessionOf(1, { start: ago(age) })),
    sessionOf(1, { start: undefined, active_queries: queryAges.map((age) => queryOf(age)) }),
    sessionOf(2, { start: ago(-10), active_queries: [queryOf(0, { start: undefined })] }),
    sessionOf(2, { active_queries: [queryOf(9, { elapsed_time: 500_000_000 })] }),
  ]);
  expect(of('crdb_sessions_by_age_seconds_bucket')).toEqual([
    '{le="60"} 4',
    '{le="600"} 6',
    '{le="3600"} 7',
    '{le="86400"} 8',
    '{le="+Inf"} 10',
  ]);
  expect(of('crdb_active_queries_by_age_seconds_bucket')).toEqual([
    '{le="1"} 3',
    '{le="10"} 4',
    '{le="60"} 5',
    '{le="600"} 6',
    '{le="3600"} 6',
    '{le="+Inf"} 8',
  ]);
});

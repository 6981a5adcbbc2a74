import { expect, test } from 'vitest';
import { ago, pollListing, queryOf, sessionOf } from './listing.ts';

test('sessions by age are cumulative; a session without a start is only in the last bucket', async () => {
  const ages = [0, 60, 61, 600, 3600, 86_400, 86_401];
  const { of } = await pollListing([
    ...ages.map((age) => sessionOf(1, { start: ago(age) })),
    sessionOf(1, { start: undefined }),
    sessionOf(1, { start: ago(-10) }),
  ]);
  expect(of('crdb_sessions_by_age_seconds_bucket')).toEqual([
    '{le="60"} 3',
    '{le="600"} 5',
    '{le="3600"} 6',
    '{le="86400"} 7',
    '{le="+Inf"} 9',
  ]);
});

test('running queries by age are cumulative; one without a start is only in the last bucket', async () => {
  const ages = [0, 1, 2, 60, 600, 3601];
  const { of } = await pollListing([
    sessionOf(1, { active_queries: ages.map((age) => queryOf(age)) }),
    sessionOf(2, { active_queries: [queryOf(0, { start: undefined })] }),
    sessionOf(2, { active_queries: [queryOf(9, { elapsed_time: 500_000_000 })] }),
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

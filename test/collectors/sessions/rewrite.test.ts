import { describe, expect, test } from 'vitest';
import type { Rewrite } from '../../../src/collector-options.ts';
import { createRewriter, findRegexFault } from '../../../src/collectors/sessions/applications.ts';
import { listingOf, pollListing, sessionOf, sessionsOf } from './listing.ts';

describe('rewriting a name', () => {
  test('the replacement can use groups of the match', () => {
    const rewrite = createRewriter([{ regex: '^(psql)-[0-9]+$', replacement: '$1' }]);
    expect(['psql-123', 'psql-', 'my psql-1'].map(rewrite)).toEqual(['psql', 'psql-', 'my psql-1']);
  });

  test('an expression is not anchored by default', () => {
    const rewrite = createRewriter([{ regex: '[0-9]+', replacement: 'N' }]);
    expect(rewrite('worker-12-of-30')).toBe('worker-N-of-N');
  });

  test('only the first matching rule applies', () => {
    const rewrite = createRewriter([
      { regex: '^b', replacement: 'first' },
      { regex: '^a', replacement: 'b' },
      { regex: '.', replacement: 'last' },
    ]);
    expect(rewrite('a')).toBe('b');
  });

  test('a match may be replaced by nothing', () => {
    expect(createRewriter([{ regex: '.*', replacement: '' }])('anything')).toBe('');
  });

  test('takes linear time, also for an expression with catastrophic backtracking', () => {
    const rewrite = createRewriter([{ regex: '^(a+)+$', replacement: 'x' }]);
    const name = `${'a'.repeat(1_000)}!`;
    expect(rewrite(name)).toBe(name);
  });
});

describe('findRegexFault', () => {
  test.each(['(', '(?=a)', String.raw`(a)\1`, 'a{9999}'])('reports %s', (regex) => {
    expect(findRegexFault(regex)).toContain('error parsing regexp');
  });

  test('accepts a valid expression', () => {
    expect(findRegexFault('^(psql)-[0-9]+$')).toBeUndefined();
  });
});

/** The shortest duration of three polls in ms: other load on the machine only adds to it. */
async function timeOf(listing: unknown, rules: readonly Rewrite[]): Promise<number> {
  const body = Buffer.from(JSON.stringify(listing));
  const times: number[] = [];
  for (let round = 0; round < 3; round += 1) {
    const startedAt = performance.now();
    await pollListing(() => body, { application_rewrite: rules });
    times.push(performance.now() - startedAt);
  }
  return Math.min(...times);
}

describe('a poll with rewriting', () => {
  const rules = [{ regex: '[0-9]+', replacement: 'N' }];

  test('reads only 1 KiB of a name of a megabyte', async () => {
    const megabyte = 'a1'.repeat(1 << 19);
    const listed = Array.from({ length: 8 }, (_each, id) =>
      sessionOf(1, { application_name: `${id} ${megabyte}` }),
    );
    const plain = await timeOf(listingOf(listed), []);
    // Reading the megabytes is most of the work; over whole names the expressions took two hundred times as long.
    expect(await timeOf(listingOf(listed), rules)).toBeLessThan(4 * plain + 200);
  });

  test('rewrites a name once, however many sessions have it', async () => {
    const application = 'a1'.repeat(500);
    const plain = await timeOf(listingOf(sessionsOf(application, 4_000)), []);
    const rewritten = await timeOf(listingOf(sessionsOf(application, 4_000)), rules);
    expect(rewritten).toBeLessThan(3 * plain + 50);
  });

  test('truncates a long name to the label limit and rewrites it by its first 1 KiB', async () => {
    const rest = 'z'.repeat(5_000);
    const { of } = await pollListing(
      [...sessionsOf(`job-17-${rest}`, 1), ...sessionsOf(`other-${rest}`, 1)],
      {
        application_rewrite: [{ regex: '^job-[0-9]+.*$', replacement: 'job' }],
      },
    );
    const names = of('crdb_application_active_queries').map((line) => /="([^"]*)"/.exec(line)?.[1]);
    expect(names).toEqual(['other', 'job', `other-${'z'.repeat(122)}`, 'other']);
  });
});

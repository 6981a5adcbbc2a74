import { describe, expect, test } from 'vitest';
import type { Rewrite } from '../../../src/collectors/collector.ts';
import { createRewriter, findRegexFault } from '../../../src/collectors/sessions/rewrite.ts';
import { listingOf, pollListing, sessionOf, sessionsOf } from './listing.ts';

describe('rewriting a name', () => {
  test('a group of the match can be used in the replacement', () => {
    const rewrite = createRewriter([{ regex: '^(psql)-[0-9]+$', replacement: '$1' }]);
    expect(['psql-123', 'psql-', 'my psql-1'].map(rewrite)).toEqual(['psql', 'psql-', 'my psql-1']);
  });

  test('an expression is anchored only where it says so', () => {
    const rewrite = createRewriter([{ regex: '[0-9]+', replacement: 'N' }]);
    expect(rewrite('worker-12-of-30')).toBe('worker-N-of-N');
  });

  test('the first rule that matches is the only one', () => {
    const rewrite = createRewriter([
      { regex: '^b', replacement: 'first' },
      { regex: '^a', replacement: 'b' },
      { regex: '.', replacement: 'last' },
    ]);
    expect(rewrite('a')).toBe('b');
  });

  test('a match may be removed altogether', () => {
    expect(createRewriter([{ regex: '.*', replacement: '' }])('anything')).toBe('');
  });

  test('takes time in proportion to the name, also for an expression that would run for ever', () => {
    const rewrite = createRewriter([{ regex: '^(a+)+$', replacement: 'x' }]);
    const name = `${'a'.repeat(1_000)}!`;
    expect(rewrite(name)).toBe(name);
  });
});

describe('a fault of an expression', () => {
  test.each(['(', '(?=a)', String.raw`(a)\1`, 'a{9999}'])('%s has one', (regex) => {
    expect(findRegexFault(regex)).toContain('error parsing regexp');
  });

  test('a good one has none', () => {
    expect(findRegexFault('^(psql)-[0-9]+$')).toBeUndefined();
  });
});

/** The shortest of three times of a poll, ms: what else the machine does only adds to it. */
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

  test('looks at 1 KiB of a name that is a megabyte', async () => {
    const megabyte = 'a1'.repeat(1 << 19);
    const listed = Array.from({ length: 8 }, (_each, id) =>
      sessionOf(1, { application_name: `${id} ${megabyte}` }),
    );
    const plain = await timeOf(listingOf(listed), []);
    // Reading the megabytes is most of the work; over whole names the expressions took two hundred times as long.
    expect(await timeOf(listingOf(listed), rules)).toBeLessThan(4 * plain + 200);
  });

  test('rewrites a name once, whatever number of sessions has it', async () => {
    const application = 'a1'.repeat(500);
    const plain = await timeOf(listingOf(sessionsOf(application, 4_000)), []);
    const rewritten = await timeOf(listingOf(sessionsOf(application, 4_000)), rules);
    expect(rewritten).toBeLessThan(3 * plain + 50);
  });

  test('shows a long name as far as a label goes, rewritten where the first 1 KiB match', async () => {
    const rest = 'z'.repeat(5_000);
    const { of } = await pollListing(
      [...sessionsOf(`job-17-${rest}`, 1), ...sessionsOf(`other-${rest}`, 1)],
      {
        application_rewrite: [{ regex: '^job-[0-9]+.*$', replacement: 'job' }],
      },
    );
    const names = of('crdb_application_active_queries').map((line) => /="([^"]*)"/.exec(line)?.[1]);
    expect(names).toEqual(['other', 'job', `other-${'z'.repeat(122)}`]);
  });
});

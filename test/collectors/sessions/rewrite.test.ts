import { describe, expect, test } from 'vitest';
import { createRewriter, findRegexFault } from '../../../src/collectors/sessions/rewrite.ts';
import { pollListing, sessionsOf } from './listing.ts';

describe('rewriting a name', () => {
  test('the replacement can use groups of the match', async () => {
    const rewrite = await createRewriter([{ regex: '^(psql)-[0-9]+$', replacement: '$1' }]);
    expect(['psql-123', 'psql-', 'my psql-1'].map(rewrite)).toEqual(['psql', 'psql-', 'my psql-1']);
  });

  test('a match may be replaced by nothing', async () => {
    const rewrite = await createRewriter([{ regex: '.*', replacement: '' }]);
    expect(rewrite('anything')).toBe('');
  });

  test('takes linear time, also for an expression with catastrophic backtracking', async () => {
    const rewrite = await createRewriter([{ regex: '^(a+)+$', replacement: 'x' }]);
    const name = `${'a'.repeat(1_000)}!`;
    expect(rewrite(name)).toBe(name);
  });
});

describe('findRegexFault', () => {
  test.each(['(', '(?=a)', String.raw`(a)\1`, 'a{9999}'])('reports %s', async (regex) => {
    expect(await findRegexFault(regex)).toContain('error parsing regexp');
  });
});

describe('a poll with rewriting', () => {
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

import { describe, expect, test } from 'vitest';
import { createRewriter, findRegexFault } from '../../../src/collectors/sessions/rewrite.ts';

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
    const name = `${'a'.repeat(50_000)}!`;
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

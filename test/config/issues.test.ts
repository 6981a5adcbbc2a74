import { expect, test } from 'vitest';
import { ConfigError, ConfigIssues, formatIssues, quote } from '../../src/config/issues.ts';

function at(line: number, column: number) {
  return { source: 'f.yml', line, column, path: 'a.b' };
}

test('issues are listed in the order of the file, those of flags first, each once', () => {
  const issues = new ConfigIssues();
  issues.throwIfAny();
  issues.report(at(10, 1), 'fifth');
  issues.report(at(2, 9), 'fourth');
  issues.report({ source: '--flag', path: '' }, 'first');
  issues.report({ source: 'VARIABLE', path: 'a' }, 'second');
  issues.report(at(2, 3), 'third');
  issues.report(at(2, 3), 'third');
  issues.warn(at(1, 1), 'one');
  issues.warn(at(1, 1), 'one');
  issues.warn(at(1, 1), 'other');
  expect(formatIssues(issues.problems).split('\n')).toEqual([
    '--flag: first',
    'VARIABLE: a: second',
    'f.yml:2:3: a.b: third',
    'f.yml:2:9: a.b: fourth',
    'f.yml:10:1: a.b: fifth',
  ]);
  expect(formatIssues(issues.warnings)).toBe('f.yml:1:1: a.b: one\nf.yml:1:1: a.b: other');
  expect(() => issues.throwIfAny()).toThrow(new ConfigError(issues.problems));
});

test('a value in a message is cut after 80 characters', () => {
  const eighty = 'ab'.repeat(40);
  expect(quote(eighty)).toBe(`"${eighty}"`);
  expect(quote(`${eighty}c`)).toBe(`"${eighty}…"`);
});

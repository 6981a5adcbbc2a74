import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { readRules } from '../rules/rule-set.ts';

const PAGE = path.join(import.meta.dirname, '..', '..', 'docs', 'recorded-series.md');

test('the page of the recorded series lists each of them once', () => {
  const rows = readFileSync(PAGE, 'utf8').matchAll(/^\| `(crdb\w*:[\w:]+)` +\| /gm);
  const listed = Array.from(rows, ([, name = '']) => name);
  const recorded = readRules().flatMap(({ rules }) => rules.flatMap(({ record }) => record ?? []));
  expect(listed.toSorted()).toEqual([...new Set(recorded)].toSorted());
});

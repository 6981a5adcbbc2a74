import { expect, test } from 'vitest';
import { completeJson } from '../../../src/cli/report/truncated-json.ts';

test.each([
  ['{"a":[{"b":1},{"b":', '{"a":[{"b":1}]}'],
  ['{"a":{"b":[{"c":1},{"c":2},{"c', '{"a":{"b":[{"c":1},{"c":2}]}}'],
  ['[{"b":1},{"b":2},', '[{"b":1},{"b":2}]'],
  ['{"a":1}', '{"a":1}'],
  // What is deeper than three brackets is left out, and so is the object that it belongs to.
  ['{"a":[{"b":1},{"b":[{"c":2}]', '{"a":[{"b":1}]}'],
  ['[[[{"a":1},{"a":', '[[[{"a":1}]]]'],
  // Brackets and quotes in texts are no brackets.
  [String.raw`[{"b":"}"},{"b":"\"}`, '[{"b":"}"}]'],
  [String.raw`[{"b":"\\"},{"b":"`, String.raw`[{"b":"\\"}]`],
  ['[{"b":"[{"},{"b":"]', '[{"b":"[{"}]'],
])('of %s what is complete is a document', (start, whole) => {
  expect(completeJson(Buffer.from(start))).toBe(whole);
});

test.each(['', '{"a":[{"b":', '[1,2,', '[[[[{"a":1}', '"a'])(
  'nothing of %s is complete',
  (start) => {
    expect(completeJson(Buffer.from(start))).toBeUndefined();
  },
);

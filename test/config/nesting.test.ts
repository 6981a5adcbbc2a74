import { expect, test } from 'vitest';
import { CLUSTER } from './bad-file.ts';
import { loadText, problemsOf } from './loading.ts';
import { readText } from './web-files.ts';

const REMEDY =
  'maps and lists are nested more than 64 deep: close the { and [ before, or put a text with them in quotes';

/** What nests, how often, and the column where it is too deep. */
test.each([
  ['{', 500, 67],
  ['[', 500, 67],
  ['{a: ', 500, 259],
  ['- ', 500, 131],
  ['? ', 500, 131],
  [': ', 500, 131],
  ['- - ? ', 100, 131],
  ['{', 100_000, 67],
  ['- ', 100_000, 131],
])('%s, %i times, is reported with its place and its remedy', async (part, times, column) => {
  const text = `log: # {{{{\n  level: "[[[["\nx:\n  ${part.repeat(times)}\n`;
  expect(await problemsOf(loadText(text))).toEqual([`exporter.yml:4:${column}: ${REMEDY}`]);
});

test('in a web config, too', async () => {
  const { problems } = await readText(`basic_auth_users: ${'{'.repeat(500)}`);
  expect(problems).toBe(`web.yml:1:82: ${REMEDY}`);
});

test('maps that are nested until the stack is full are reported with their place', async () => {
  const lines = Array.from({ length: 1_300 }, (_, depth) => `${' '.repeat(depth)}a:\n`);
  const problems = await problemsOf(loadText(lines.join('')));
  expect(problems.join('\n')).toMatch(/^exporter\.yml:\d+:\d+: /);
});

test.each([
  ['a comment', `# ${'{[- '.repeat(500)}`],
  ['a text in quotes', `"${'{[- '.repeat(500)}"`],
  ['a folded text', `>\n    ${'{[- '.repeat(500)}`],
  ['a plain text', `x${'{[- '.repeat(500)}`],
  ['a long list', `[${'{}, '.repeat(500)}]`],
])('what %s holds is no nesting', async (_what, value) => {
  const problems = await problemsOf(loadText(`${CLUSTER}nested: ${value}\n`));
  expect(problems.join('\n')).toMatch(/^exporter\.yml:5:1: nested: unknown key "nested"[^\n]*$/);
});

test('of very many syntax errors the first are reported', async () => {
  const problems = await problemsOf(loadText('}'.repeat(20_000)));
  expect(problems.length).toBeLessThanOrEqual(20);
});

test('a key that is a map, as of a template that nobody filled in, is reported', async () => {
  const problems = await problemsOf(loadText(`${CLUSTER}      password: {{ password }}\n`));
  expect(problems).toEqual([
    'exporter.yml:5:18: clusters[0].cluster_api.password: only a text can be a key: put one that begins with { or [ in quotes',
  ]);
});

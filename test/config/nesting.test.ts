import { expect, test } from 'vitest';
import { CLUSTER } from './bad-file.ts';
import { loadText, problemsOf } from './loading.ts';

/** What nests more than 64 deep. */
test.each(['{', '[', '- ', '? ', ': ', '- - ? '])(
  '%s, very often, is reported with its remedy',
  async (part) => {
    const [problem] = await problemsOf(loadText(`x:\n  ${part.repeat(10_000)}\n`));
    expect(problem).toMatch(/nested more than 64 deep: close the \{ and \[ before/);
  },
);

test('maps that are nested until the stack is full are reported with their place', async () => {
  const lines = Array.from({ length: 1_300 }, (_, depth) => `${' '.repeat(depth)}a:\n`);
  const problems = await problemsOf(loadText(lines.join('')));
  expect(problems.join('\n')).toMatch(/^exporter\.yml:\d+:\d+: /);
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

import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseDuration, writeDuration } from '../../src/config/values.ts';
import { API, CLUSTER } from './bad-file.ts';
import { loadText, problemsOf } from './loading.ts';

test.each([
  ['0', 0],
  ['500ms', 0.5],
  ['1500ms', 1.5],
  ['1m30s', 90],
  ['1h1m1s1ms', 3661.001],
  ['1d', 86_400],
  ['2w', 1_209_600],
  ['1y', 31_536_000],
])('the duration %s is %d seconds', (text, seconds) => {
  expect(parseDuration(text)).toBe(seconds);
});

const NO_DURATIONS = ['', '1', 's', '-1s', '1.5s', '1 s', ' 1s', '1s ', '1s1m', '1s1s', '1S'];
test.each([...NO_DURATIONS, '1µs', '0x1s', '1e3s'])('the text %j is no duration', (text) => {
  expect(parseDuration(text)).toBeUndefined();
});

test.each([
  [0, '0s'],
  [0.25, '250ms'],
  [90, '90s'],
  [3600, '1h'],
  [694_861.5, '694861500ms'],
])('%d seconds are written %s', (seconds, text) => {
  expect(writeDuration(seconds)).toBe(text);
});

test('every duration of whole milliseconds is read back as it was written', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 10 ** 12 }), (count) => {
      expect(parseDuration(writeDuration(count / 1000))).toBe(count / 1000);
    }),
  );
});

test.each([
  ['100B', 100],
  ['16KiB', 16_384],
  ['512MiB', 536_870_912],
  ['2GiB', 2_147_483_648],
  ['1TiB', 1_099_511_627_776],
])('the size %s is %d bytes', async (text, bytes) => {
  const { config } = await loadText(`${CLUSTER}      max_response_bytes: ${text}\n`);
  expect(config.clusters[0]?.cluster_api?.max_response_bytes).toBe(bytes);
});

test.each(['1024', '2GB', '2gib', '1.5GiB', '-1B', '1 MiB', 'MiB', '1MiB1KiB'])(
  'the text %j is no size',
  async (text) => {
    const [problem] = await problemsOf(loadText(`${CLUSTER}      min_rate: "${text}"\n`));
    expect(problem).toContain(`"${text}" is not a size: write it with a binary unit`);
  },
);

function collectors(keys: string): string {
  return `${CLUSTER}collectors: { ranges: { ${keys} } }\n`;
}

describe('a number without a unit', () => {
  test.each(['0', '"0"', '0s', '0.0', '-0', '0x0'])(
    'is a duration and a size where it is %s and nothing is allowed',
    async (zero) => {
      const yaml = `${API}      urls: ["https://crdb:8080"]\n      min_rate: ${zero === '0s' ? '0B' : zero}\n`;
      const { config } = await loadText(
        `${yaml}collectors: { ranges: { descriptor_max_age: ${zero} } }\n`,
      );
      const [cluster] = config.clusters;
      expect(cluster?.collectors['ranges']?.['descriptor_max_age']).toBe(0);
      expect(cluster?.cluster_api?.min_rate).toBe(0);
    },
  );

  test.each([
    [
      collectors('descriptor_max_age: 30'),
      '30 is not a duration: write it with units, as 30s, 1m30s or 500ms; only 0 needs none',
    ],
    [
      `${CLUSTER}      min_rate: 1024\n`,
      '1024 is not a size: write it with a binary unit, as 2GiB, 512MiB or 16KiB; only 0 needs none',
    ],
    [
      collectors('interval: 30'),
      '30 is not a duration: write it with units, as 30s, 1m30s or 500ms',
    ],
    [collectors('interval: 0'), '0 is too small: at least 1s'],
    [`${CLUSTER}      timeout: 0\n`, '0 is too small: at least 100ms'],
    [`${CLUSTER}      max_response_bytes: 0\n`, '0 is too small: at least 1B'],
  ])('is refused in %j', async (yaml, message) => {
    const [problem] = await problemsOf(loadText(yaml));
    expect(problem).toMatch(new RegExp(`: ${message}$`));
  });
});

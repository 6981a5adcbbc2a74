import { describe, expect, test } from 'vitest';
import { ask } from './ask.ts';
import { startOrchard } from './orchard.ts';

/** Headers of browsers, for a page of the exporter itself or of another site; `HOST` is the address of the exporter. */
const CASES: readonly (readonly [number, Readonly<Record<string, string>>])[] = [
  [200, {}],
  [200, { 'sec-fetch-site': 'same-origin', origin: 'http://HOST' }],
  [200, { 'sec-fetch-site': 'none' }],
  [200, { origin: 'https://HOST' }],
  [403, { 'sec-fetch-site': 'cross-site' }],
  [403, { 'sec-fetch-site': 'same-site' }],
  [403, { origin: 'http://evil.example' }],
  [403, { origin: 'http://HOST.evil.example' }],
  [403, { origin: 'null' }],
];

describe('/-/reload', () => {
  test.each(CASES)('answers %i to a request with %j', async (expected, headers) => {
    const { url } = await startOrchard({ flags: { 'web.enable-lifecycle': true } });
    const { host } = new URL(url);
    const sent = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, value.replace('HOST', host)]),
    );
    for (const method of ['POST', 'PUT']) {
      const { status } = await ask(url, '/-/reload', { method, headers: sent });
      expect(status).toBe(expected);
    }
  });
});

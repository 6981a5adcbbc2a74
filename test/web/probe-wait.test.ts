import { once } from 'node:events';
import http from 'node:http';
import { expect, test } from 'vitest';
import { SampleSet } from '../../src/metrics/sample-set.ts';
import { createProbe } from '../../src/web/probe.ts';
import { serve } from '../support/http-server.ts';

test.each([
  [undefined, 600_000],
  ['soon', 600_000],
  ['0.001', 100],
  ['0.75', 250],
  ['10', 9_500],
  ['601', 600_000],
])('a probe whose scraper waits %s s waits %d ms for the polls', async (seconds, waitMs) => {
  const waits: number[] = [];
  const cluster = {
    name: 'a',
    isPolled: false,
    config: { console_url: undefined },
    pollers: [],
    watchProblems: [],
    result: () => undefined,
    lastResult: () => undefined,
    isUp: () => undefined,
    families: () => [],
    metrics: () => new SampleSet({}),
    pollNow(_isChosen: unknown, wait: number) {
      waits.push(wait);
      return Promise.resolve();
    },
  };
  await using server = await serve((_request, response) => {
    void createProbe(() => [cluster], 0)(response);
  });
  const headers = seconds === undefined ? {} : { 'x-prometheus-scrape-timeout-seconds': seconds };
  const request = http.get(`${server.url}/probe?cluster=a`, { headers });
  await once(request, 'response');
  expect(waits).toEqual([waitMs]);
});

import { expect, test } from 'vitest';
import { serve } from '../../support/http-server.ts';
import { diagnoseBy, simulate } from './diagnosed.ts';

test('diagnose names a URL that ignores `ranges=`, without a scan', async () => {
  await using simulator = await simulate({ insecure: true });
  await using proxy = await serve(({ url = '' }, response) => {
    const target = new URL(url.replace(/ranges=[^&]*/, ''), simulator.clusterUrl);
    void fetch(target).then(async (answer) => response.end(await answer.text()));
  });
  const flags = [simulator.clusterUrl, proxy.url].map((url) => `--cluster.url=${url}`);
  const { of } = await diagnoseBy(...flags);
  const detail = `${new URL(proxy.url).host} ignores \`ranges=\` and lists all ranges of a node`;
  const found = { verdict: 'warning', detail: expect.stringContaining(detail) };
  expect(of('single ranges')).toMatchObject(found);
  simulator.setQuirk('ignoreRangeIds', true);
  const { of: ofOne } = await diagnoseBy(`--cluster.url=${simulator.clusterUrl}`);
  expect(ofOne('single ranges')).toMatchObject({ verdict: 'warning' });
});

test('diagnose warns where no URL answers for single ranges, not where one does', async () => {
  await using simulator = await simulate({ insecure: true });
  await using proxy = await serve(({ url = '' }, response) => {
    const isOfSingleRanges = url.includes('ranges=');
    void fetch(new URL(url, simulator.clusterUrl)).then(async (answer) =>
      response.writeHead(isOfSingleRanges ? 500 : 200).end(await answer.text()),
    );
  });
  const failing = `--cluster.url=${proxy.url}`;
  const { of } = await diagnoseBy(failing);
  expect(of('single ranges')).toMatchObject({
    verdict: 'warning',
    detail: expect.stringContaining('500'),
  });
  const { of: ofBoth } = await diagnoseBy(`--cluster.url=${simulator.clusterUrl}`, failing);
  expect(ofBoth('single ranges')).toMatchObject({ verdict: 'ok' });
});

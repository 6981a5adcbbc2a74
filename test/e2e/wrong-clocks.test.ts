import http from 'node:http';
import { expect, test } from 'vitest';
import { startSimulator } from '../../simulator/index.ts';
import { createClock, type Clock } from '../../src/base/clock.ts';
import type { Status } from '../../src/status/findings/status.ts';
import { clusterYaml, startTestExporter, type TestExporter } from '../support/exporter.ts';
import { serve, type TestServer } from '../support/http-server.ts';

const HOUR_MS = 3_600_000;
const WORLD = { nodes: 3, ranges: 10, metricKeys: 'useful' } as const;

/** A proxy whose clock is ahead by so much: it sets the Date of what the server answers. */
function openProxy(target: string, aheadMs: number): Promise<TestServer> {
  return serve((request, response) => {
    const { url = '', method, headers } = request;
    const forwarded = http.request(target + url, { method, headers }, (answer) => {
      const date = new Date(Date.now() + aheadMs).toUTCString();
      response.writeHead(answer.statusCode ?? 502, { ...answer.headers, date });
      answer.pipe(response);
    });
    forwarded.on('error', () => response.destroy());
    request.pipe(forwarded);
  });
}

/** Problems that a wrong clock may cause. */
const OF_CLOCKS = [
  'CrdbExporterClockWrong',
  'CrdbNodeRecordStale',
  'CrdbClockOffsetHigh',
  'CrdbBackupTooOld',
  'CrdbCertificateExpiring',
  'CrdbLicenseExpiring',
];

/** What the page finds of clocks and records when the exporter has this clock and the proxy before the cluster another one. */
async function findingsWith(clock: Clock | undefined, proxyAheadMs: number) {
  await using simulator = await startSimulator(WORLD);
  const [target = ''] = simulator.clusterUrls.map((url) => new URL(url).origin);
  await using proxy = await openProxy(target, proxyAheadMs);
  const { username, password } = simulator;
  const cluster = clusterYaml({ clusterUrls: [proxy.url], username, password });
  await using exporter: TestExporter = await startTestExporter({
    yaml: `collectors: { ranges: { enabled: false }, network: { enabled: false } }\nclusters:\n${cluster}`,
    ...(clock && { app: { clock } }),
  });
  await exporter.until((scrape) => scrape.all('crdb_nodes').length > 0);
  const status: Status = JSON.parse((await exporter.get('/api/status')).text);
  const findings = status.clusters.flatMap((shown) => shown.findings);
  return findings.filter(({ alert = '' }) => OF_CLOCKS.includes(alert)).map(({ text }) => text);
}

const OWN: Clock = {
  wallMs: Date.now,
  monotonicMs: () => performance.now(),
  runningMs: () => performance.now(),
};

test.each([HOUR_MS, -HOUR_MS])(
  'a Date of a proxy that is wrong by %i ms is named, and no node is said to be silent',
  async (aheadMs) => {
    const texts = await findingsWith(undefined, aheadMs);
    expect(texts).toEqual([
      expect.stringMatching(
        aheadMs > 0
          ? /^The Date of the responses is (?:1 h|59 min \d+ s) ahead of the clocks/
          : /^The Date of the responses is 1 h(?: \d+ s)? behind the clocks/,
      ),
    ]);
  },
);

test.each([
  [
    -HOUR_MS,
    /^The clock of the exporter is (?:1 h|59 min \d+ s) behind the clock of the server\.$/,
  ],
  [
    400 * 24 * HOUR_MS,
    /^The clock of the exporter is 400 d(?: \d+ s)? ahead of the clock of the server\.$/,
  ],
  [
    -400 * 24 * HOUR_MS,
    /^The clock of the exporter is (?:400 d|399 d 23 h) behind the clock of the server\.$/,
  ],
])(
  'a clock of the exporter that is wrong by %i ms is named, and neither backups nor certificates are old by it',
  async (aheadMs, text) => {
    const clock: Clock = { ...OWN, wallMs: () => Date.now() + aheadMs };
    expect(await findingsWith(clock, 0)).toEqual([expect.stringMatching(text)]);
  },
);

test('a clock that is set ahead during a response does not stretch the interval', async () => {
  await using simulator = await startSimulator(WORLD);
  const [target = ''] = simulator.clusterUrls.map((url) => new URL(url).origin);
  let aheadMs = 0;
  await using proxy = await serve((request, response) => {
    const { url = '', method, headers } = request;
    const forwarded = http.request(target + url, { method, headers }, (answer) => {
      if (url.includes('/nodes/')) aheadMs = HOUR_MS;
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    request.pipe(forwarded);
  });
  const { username, password } = simulator;
  const cluster = clusterYaml({ clusterUrls: [proxy.url], username, password });
  await using exporter = await startTestExporter({
    yaml: `collectors: { ranges: { enabled: false }, network: { enabled: false } }\nclusters:\n${cluster}`,
    app: { clock: createClock(() => Date.now() + aheadMs) },
  });
  const scrape = await exporter.until((each) => each.all('crdb_nodes').length > 0);
  const [interval, configured] = ['interval', 'configured_interval'].map((name) =>
    scrape.value(`crdb_exporter_collector_${name}_seconds`, { collector: 'nodes' }),
  );
  expect(aheadMs).toBe(HOUR_MS);
  expect(interval).toBe(configured);
});

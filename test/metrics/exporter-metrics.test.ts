import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { COLLECTORS } from '../../src/collectors/all-collectors.ts';
import { EXPORTER_FAMILIES } from '../../src/exporter/measure-cluster.ts';
import { ExporterMetrics } from '../../src/metrics/exporter-metrics.ts';
import { type ExpositionFormat, joinExposition } from '../../src/metrics/exposition.ts';
import { baseName } from '../../src/metrics/family.ts';
import { parseExposition } from './parse-exposition.ts';
import { isMissing, run } from './programs.ts';

function create(): ExporterMetrics {
  return new ExporterMetrics({
    version: '1.2.3',
    revision: 'abc',
    nodeVersion: 'v24',
    platform: 'linux',
  });
}

async function render(
  self: ExporterMetrics,
  format: ExpositionFormat = 'text',
  collectors = COLLECTORS.map(({ name }) => name),
): Promise<string> {
  const families = await self.families(new Set(collectors));
  const chunks = joinExposition({ families, format, gzip: false });
  return Buffer.concat(chunks).toString();
}

/** Values by name and labels, of one cluster's series. */
async function valuesOf(
  self: ExporterMetrics,
  cluster: string,
): Promise<ReadonlyMap<string, number>> {
  const samples = parseExposition(await render(self)).filter(
    ({ labels }) => labels['crdb_cluster'] === cluster,
  );
  return new Map(
    samples.map(({ name, labels, value }) => {
      const words = Object.entries(labels).flatMap(([label, text]) =>
        label === 'crdb_cluster' ? [] : [text],
      );
      return [[name.replace('crdb_exporter_', ''), ...words].join(' '), value];
    }),
  );
}

function reportOnce(self: ExporterMetrics, cluster: string): void {
  const one = self.cluster(cluster);
  one.preparePolls({ collector: 'nodes', shard: '0' });
  one.prepareLogins();
  one.prepareEndpoints(['nodes', 'login']);
  one.requestFinished('cluster', { endpoint: 'nodes', code: 200, seconds: 0.2, bytes: 700 });
  one.requestFinished('cluster', { endpoint: 'nodes', code: 'error', seconds: 3, bytes: 0 });
  one.requestRetried('cluster', 'nodes', 'throttled');
  one.decodeErrors('nodes', 3);
  one.loginTried();
  one.loginFailed('rejected');
  one.pollFinished({ collector: 'nodes', shard: '0' }, 'auth');
  one.pollSkipped({ collector: 'nodes', shard: '0' }, 'overrun');
  one.seriesDropped('crdb_node_metric', 'budget', 12);
}

describe("the exporter's own metrics", () => {
  it('leave out the series of collectors that are not chosen, and nothing else', async () => {
    const self = create();
    reportOnce(self, 'prod');
    self.cluster('prod').preparePolls({ collector: 'ranges', shard: '0' });
    const all = parseExposition(await render(self));
    const chosen = parseExposition(await render(self, 'text', ['ranges']));
    // The process's own come and go: garbage collections, kinds of open resources.
    const keys = (samples: typeof all): string[] =>
      samples
        .filter(({ name }) => name.startsWith('crdb_'))
        .map(({ name, labels }) => `${name} ${JSON.stringify(labels)}`);
    const expected = all.filter(({ labels }) => labels['collector'] !== 'nodes');
    expect(expected.length).toBeLessThan(all.length);
    expect(keys(chosen)).toEqual(keys(expected));
  });

  it('count what is reported, per cluster', async () => {
    const self = create();
    reportOnce(self, 'prod');
    const values = await valuesOf(self, 'prod');
    expect(Object.fromEntries([...values].filter(([, value]) => value !== 0))).toEqual({
      'http_requests_total cluster nodes 200': 1,
      'http_requests_total cluster nodes error': 1,
      'http_response_bytes_total cluster nodes': 700,
      'http_retries_total cluster nodes throttled': 1,
      'http_request_duration_seconds_bucket 0.25 cluster nodes': 1,
      'http_request_duration_seconds_bucket 0.5 cluster nodes': 1,
      'http_request_duration_seconds_bucket 1.5 cluster nodes': 1,
      'http_request_duration_seconds_bucket 2.5 cluster nodes': 1,
      'http_request_duration_seconds_bucket 5.5 cluster nodes': 2,
      'http_request_duration_seconds_bucket 10.5 cluster nodes': 2,
      'http_request_duration_seconds_bucket 30.5 cluster nodes': 2,
      'http_request_duration_seconds_bucket 60.5 cluster nodes': 2,
      'http_request_duration_seconds_bucket +Inf cluster nodes': 2,
      'http_request_duration_seconds_count cluster nodes': 2,
      'http_request_duration_seconds_sum cluster nodes': 3.2,
      'decode_errors_total nodes': 3,
      logins_total: 1,
      'login_failures_total rejected': 1,
      'polls_total nodes 0': 1,
      'poll_failures_total nodes 0 auth': 1,
      'polls_skipped_total nodes 0 overrun': 1,
      'series_dropped_total crdb_node_metric budget': 12,
    });
  });

  it('start at 0 where they are prepared, with every reason', async () => {
    const self = create();
    const one = self.cluster('prod');
    one.preparePolls({ collector: 'ranges', shard: 'n3' });
    one.prepareLogins();
    one.prepareEndpoints(['users']);
    const values = await valuesOf(self, 'prod');
    expect([...values.values()].every((value) => value === 0)).toBe(true);
    const counts = (prefix: string): number =>
      [...values.keys()].filter((key) => key.startsWith(prefix)).length;
    expect([
      counts('polls_total ranges n3'),
      counts('poll_failures_total ranges n3'),
      counts('polls_skipped_total ranges n3'),
      counts('logins_total'),
      counts('login_failures_total'),
      counts('decode_errors_total users'),
    ]).toEqual([1, 11, 3, 1, 5, 1]);
  });

  it('keep clusters apart whose names look like labels', async () => {
    const self = create();
    const names = ['a,endpoint:nodes', 'a', 'a",api="x', 'a|b'];
    names.forEach((name, index) => self.cluster(name).decodeErrors('nodes', index + 1));
    for (const [index, name] of names.entries()) {
      expect((await valuesOf(self, name)).get('decode_errors_total nodes')).toBe(index + 1);
    }
  });

  it('forget a removed cluster, and late reports do not bring it back', async () => {
    const self = create();
    reportOnce(self, 'gone');
    reportOnce(self, 'stays');
    const late = self.cluster('gone');
    self.forget('gone');
    late.pollFinished({ collector: 'nodes', shard: '0' });
    const text = await render(self);
    expect(text).not.toContain('gone');
    expect(text).toContain('crdb_exporter_polls_total{crdb_cluster="stays"');
  });

  it('have distinct names, in OpenMetrics too', () => {
    const families = [
      ...EXPORTER_FAMILIES,
      ...COLLECTORS.flatMap((collector) => collector.families),
    ];
    expect(new Set(families.map(baseName)).size).toBe(families.length);
  });
});

describe("the process's metrics", () => {
  it('say what runs', async () => {
    expect(await render(create())).toContain(
      'crdb_exporter_build_info{version="1.2.3",revision="abc",node_version="v24",platform="linux"} 1\n',
    );
  });

  it('show the memory, and no gauge named like a counter', async () => {
    const text = await render(create());
    expect(text).toContain('# TYPE process_resident_memory_bytes gauge\n');
    expect(text).not.toMatch(/nodejs_active_\w+_total/);
  });

  it('count dropped connections', async () => {
    const self = create();
    for (let times = 0; times < 2; times += 1) self.connectionDropped();
    expect(await render(self)).toContain('crdb_exporter_web_connections_dropped_total 2\n');
  });

  it('show no event loop lag that was not measured', async () => {
    const self = create();
    let seen: readonly number[] = [];
    // Each rendering begins a new measurement, of which the first has nothing yet.
    while (seen.length === 0) {
      const samples = parseExposition(await render(self));
      seen = samples
        .filter(({ name }) => name.startsWith('nodejs_eventloop_lag_m'))
        .map(({ value }) => value);
      expect(seen.filter((value) => !(value > 0 && value < 3600))).toEqual([]);
      await sleep(50);
    }
  });

  it.skipIf(isMissing('promtool'))('pass promtool check metrics', async () => {
    const self = create();
    reportOnce(self, 'prod');
    expect(run('promtool', ['check', 'metrics'], await render(self)).toString()).toBe('');
  });
});

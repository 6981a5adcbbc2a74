import { gunzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ExporterMetrics } from '../../src/metrics/exporter-metrics.ts';
import type { ExpositionRequest, RenderedFamily } from '../../src/metrics/exposition.ts';
import { joinExposition } from '../../src/metrics/exposition.ts';
import type { Family } from '../../src/metrics/family.ts';
import { counter, gauge, gaugeHistogram } from '../../src/metrics/family.ts';
import { SampleSet } from '../../src/metrics/sample-set.ts';
import type { Snapshot } from '../../src/metrics/snapshot.ts';
import { renderFamilies, renderSnapshot } from '../../src/metrics/snapshot.ts';
import { parseExposition } from './parse-exposition.ts';
import { isMissing, run } from './programs.ts';

const HELP = 'A family of the test.';
const NODES = gauge({ name: 'crdb_test_nodes', help: HELP, labels: ['id'] });
const QUERIES = counter({ name: 'crdb_test_queries_total', help: HELP, labels: ['id'] });
const UP = gauge({ name: 'crdb_test_up', help: HELP, labels: [] });

/** The request of a scrape with defaults. */
function join({
  parts = [],
  rendered = [],
  ...request
}: Partial<Omit<ExpositionRequest, 'families'>> & {
  readonly parts?: readonly Snapshot[];
  readonly rendered?: readonly RenderedFamily[];
}): Buffer {
  const families = [...parts.flatMap((part) => [...part.families.values()]), ...rendered];
  const chunks = joinExposition({ families, format: 'text', gzip: false, ...request });
  return Buffer.concat(chunks);
}

async function snapshotOf(
  cluster: string,
  ...families: readonly Family<'id'>[]
): Promise<Snapshot> {
  const set = new SampleSet({ crdb_cluster: cluster });
  families.forEach((family, index) => set.set(family, { id: '1' }, index));
  return renderSnapshot(set);
}

/** Large enough that its families are compressed ahead. */
async function largeSnapshot(cluster: string, series = 3000): Promise<Snapshot> {
  const set = new SampleSet({ crdb_cluster: cluster });
  for (let id = 0; id < series; id += 1) {
    set.set(NODES, { id: `node ${id}` }, id / 7);
    set.set(QUERIES, { id: `node ${id}` }, id * 1000);
  }
  return renderSnapshot(set);
}

describe('a joined exposition', () => {
  it('has the families by name, all samples of one under one header', async () => {
    const set = new SampleSet({});
    set.set(UP, {}, 1);
    const body = join({
      parts: [await snapshotOf('a', QUERIES, NODES), await snapshotOf('b', NODES)],
      rendered: renderFamilies(set),
    });
    expect(body.toString()).toBe(
      [
        `# HELP crdb_test_nodes ${HELP}`,
        '# TYPE crdb_test_nodes gauge',
        'crdb_test_nodes{crdb_cluster="a",id="1"} 1',
        'crdb_test_nodes{crdb_cluster="b",id="1"} 0',
        `# HELP crdb_test_queries_total ${HELP}`,
        '# TYPE crdb_test_queries_total counter',
        'crdb_test_queries_total{crdb_cluster="a",id="1"} 0',
        `# HELP crdb_test_up ${HELP}`,
        '# TYPE crdb_test_up gauge',
        'crdb_test_up 1',
        '',
      ].join('\n'),
    );
  });

  it('has a gauge histogram as such in OpenMetrics, and untyped in the text format', () => {
    const set = new SampleSet({});
    const family = gaugeHistogram({ name: 'crdb_age_seconds_bucket', help: HELP, labels: ['le'] });
    set.set(family, { le: '60' }, 2);
    set.set(family, { le: '+Inf' }, 3);
    const samples = 'crdb_age_seconds_bucket{le="60"} 2\ncrdb_age_seconds_bucket{le="+Inf"} 3\n';
    const rendered = renderFamilies(set);
    expect(join({ rendered }).toString()).toBe(
      `# HELP crdb_age_seconds_bucket ${HELP}\n# TYPE crdb_age_seconds_bucket untyped\n${samples}`,
    );
    expect(join({ rendered, format: 'openmetrics' }).toString()).toBe(
      `# TYPE crdb_age_seconds gaugehistogram\n# UNIT crdb_age_seconds seconds\n# HELP crdb_age_seconds ${HELP}\n${samples}# EOF\n`,
    );
    for (const name of ['crdb_age_seconds', 'crdb_age_seconds_bucket']) {
      expect(join({ rendered, names: new Set([name]) }).toString()).toContain(samples);
    }
  });

  it.each([
    [['crdb_test_nodes'], ['crdb_test_nodes']],
    [['crdb_test_queries_total'], ['crdb_test_queries_total']],
    [['crdb_test_queries'], ['crdb_test_queries_total']],
    [
      ['crdb_test_up', 'crdb_test_nodes'],
      ['crdb_test_nodes', 'crdb_test_up'],
    ],
    [['crdb_test_node', 'crdb_test'], []],
    [[], []],
  ])('is filtered by name[] %j', async (names, expected) => {
    const set = new SampleSet({});
    set.set(UP, {}, 1);
    const body = join({
      parts: [await snapshotOf('a', QUERIES, NODES)],
      rendered: renderFamilies(set),
      names: new Set(names),
    });
    expect(parseExposition(body.toString()).map(({ name }) => name)).toEqual(expected);
  });

  it.each(['', '_bucket', '_sum', '_count'])(
    'finds a histogram by its name with %j',
    async (suffix) => {
      const self = new ExporterMetrics({
        version: '',
        revision: '',
        nodeVersion: '',
        platform: '',
      });
      self
        .cluster('a')
        .requestFinished('cluster', { endpoint: 'nodes', code: 200, seconds: 1, bytes: 1 });
      const name = 'crdb_exporter_http_request_duration_seconds';
      const body = join({
        rendered: await self.families(new Set()),
        names: new Set([name + suffix]),
      });
      const samples = parseExposition(body.toString());
      expect(new Set(samples.map((sample) => sample.name))).toEqual(
        new Set([`${name}_bucket`, `${name}_sum`, `${name}_count`]),
      );
    },
  );
});

describe('a compressed exposition', () => {
  it('has the header of gzip and no more when it is empty', () => {
    const [header, empty, checksumAndLength] = ['1f8b08000000000000ff', '0300', '0'.repeat(16)];
    expect(join({ gzip: true }).toString('hex')).toBe(header + empty + checksumAndLength);
  });

  it('unpacks whatever mixture of small, large and missing families it is made of', async () => {
    const size = fc.constantFrom(0, 1, 30, 60, 400);
    await fc.assert(
      fc.asyncProperty(fc.array(size, { maxLength: 6 }), fc.boolean(), async (sizes, isOpen) => {
        const parts = await Promise.all(
          sizes.map((series, index) => largeSnapshot(`cluster ${index}`, series)),
        );
        const format = isOpen ? 'openmetrics' : 'text';
        const packed = join({ parts, format, gzip: true });
        expect(gunzipSync(packed).equals(join({ parts, format }))).toBe(true);
      }),
      { numRuns: 50 },
    );
  });

  it.skipIf(isMissing('gzip'))('is read by gzip, which checks length and checksum', async () => {
    const parts = [await largeSnapshot('a')];
    const unpacked = run('gzip', ['-dc'], join({ parts, gzip: true }));
    expect(unpacked.equals(join({ parts }))).toBe(true);
  });
});

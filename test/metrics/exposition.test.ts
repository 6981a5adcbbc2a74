import { once } from 'node:events';
import { createServer } from 'node:http';
import { promisify } from 'node:util';
import { execFile } from 'node:child_process';
import { gunzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ExpositionRequest } from '../../src/metrics/exposition.ts';
import { joinExposition } from '../../src/metrics/exposition.ts';
import type { Family } from '../../src/metrics/family.ts';
import { counter, gauge } from '../../src/metrics/family.ts';
import * as outcome from '../../src/metrics/outcome-families.ts';
import { createSelf } from '../../src/metrics/self.ts';
import { Sheet } from '../../src/metrics/sheet.ts';
import type { Snapshot } from '../../src/metrics/snapshot.ts';
import { renderFamilies, renderSnapshot } from '../../src/metrics/snapshot.ts';
import { parseExposition } from './parse-exposition.ts';
import { isMissing, run } from './programs.ts';

const HELP = 'A family of the test.';
const NODES = gauge({ name: 'crdb_test_nodes', help: HELP, labels: ['id'] });
const QUERIES = counter({ name: 'crdb_test_queries_total', help: HELP, labels: ['id'] });
const UP = gauge({ name: 'crdb_test_up', help: HELP, labels: [] });

/** The request of a scrape with defaults. */
function join(request: Partial<ExpositionRequest>): Buffer {
  const { chunks, length } = joinExposition({
    parts: [],
    rendered: [],
    format: 'text',
    gzip: false,
    ...request,
  });
  const body = Buffer.concat(chunks);
  expect(body).toHaveLength(length);
  return body;
}

async function snapshotOf(
  cluster: string,
  ...families: readonly Family<'id'>[]
): Promise<Snapshot> {
  const sheet = new Sheet({ crdb_cluster: cluster });
  families.forEach((family, index) => sheet.set(family, { id: '1' }, index));
  return renderSnapshot(sheet);
}

/** Large enough that its families are compressed ahead. */
async function largeSnapshot(cluster: string, series = 3000): Promise<Snapshot> {
  const sheet = new Sheet({ crdb_cluster: cluster });
  for (let id = 0; id < series; id += 1) {
    sheet.set(NODES, { id: `node ${id}` }, id / 7);
    sheet.set(QUERIES, { id: `node ${id}` }, id * 1000);
  }
  return renderSnapshot(sheet);
}

describe('a joined exposition', () => {
  it('has the families by name, all samples of one under one header', async () => {
    const sheet = new Sheet({});
    sheet.set(UP, {}, 1);
    const body = join({
      parts: [await snapshotOf('a', QUERIES, NODES), await snapshotOf('b', NODES)],
      rendered: renderFamilies(sheet),
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

  it('has no header of a family that lost all its series', async () => {
    const sheet = new Sheet({});
    sheet.set(NODES, { id: '1' }, 1);
    sheet.drop(() => false);
    expect(join({ parts: [await renderSnapshot(sheet)] }).toString()).toBe('');
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
    const sheet = new Sheet({});
    sheet.set(UP, {}, 1);
    const body = join({
      parts: [await snapshotOf('a', QUERIES, NODES)],
      rendered: renderFamilies(sheet),
      names: new Set(names),
    });
    expect(parseExposition(body.toString()).map(({ name }) => name)).toEqual(expected);
  });

  it.each(['', '_bucket', '_sum', '_count'])(
    'finds a histogram by its name with %j',
    async (suffix) => {
      const self = createSelf({ version: '', revision: '', nodeVersion: '', platform: '' });
      self
        .cluster('a')
        .requestFinished({ api: 'cluster', endpoint: 'nodes', code: 200, seconds: 1, bytes: 1 });
      const name = 'crdb_exporter_http_request_duration_seconds';
      const body = join({ rendered: await self.families(), names: new Set([name + suffix]) });
      const samples = parseExposition(body.toString());
      expect(new Set(samples.map((sample) => sample.name))).toEqual(
        new Set([`${name}_bucket`, `${name}_sum`, `${name}_count`]),
      );
    },
  );
});

describe('a compressed exposition', () => {
  it.each(['text', 'openmetrics'] as const)('unpacks to the plain one in %s', async (format) => {
    const sheet = new Sheet({});
    sheet.set(UP, {}, 1);
    const request = {
      parts: [await largeSnapshot('a'), await snapshotOf('b', NODES), await largeSnapshot('c')],
      rendered: renderFamilies(sheet),
      format,
    };
    const plain = join(request);
    const packed = join({ ...request, gzip: true });
    expect(gunzipSync(packed).equals(plain)).toBe(true);
    expect(packed.length).toBeLessThan(plain.length / 5);
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

  it.skipIf(isMissing('curl'))(
    'is read to its end by curl, which stops after a first member',
    async () => {
      const parts = [await largeSnapshot('a'), await largeSnapshot('b')];
      const packed = join({ parts, gzip: true });
      const server = createServer((_request, response) => {
        response.setHeader('content-encoding', 'gzip').end(packed);
      });
      await once(server.listen(0, '127.0.0.1'), 'listening');
      try {
        const address = server.address();
        const port = typeof address === 'object' ? address?.port : undefined;
        const { stdout } = await promisify(execFile)(
          'curl',
          [
            '--silent',
            '--show-error',
            '--noproxy',
            '*',
            '--compressed',
            `http://127.0.0.1:${port}/`,
          ],
          { maxBuffer: 2 ** 26 },
        );
        expect(stdout === join({ parts }).toString()).toBe(true);
      } finally {
        server.close();
      }
    },
  );
});

describe('the whole output', () => {
  it.skipIf(isMissing('promtool'))(
    'passes promtool check metrics with all outcome families',
    () => {
      const sheet = new Sheet({ crdb_cluster: 'prod' });
      for (const family of outcome.OUTCOME_FAMILIES) {
        sheet.set(family, Object.fromEntries(family.labels.map((label) => [label, 'x'])), 1);
      }
      const body = join({ rendered: renderFamilies(sheet) });
      expect(run('promtool', ['check', 'metrics'], body).toString()).toBe('');
      expect(parseExposition(body.toString())).toHaveLength(outcome.OUTCOME_FAMILIES.length);
    },
  );
});

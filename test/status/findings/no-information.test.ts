import { expect, onTestFinished, test } from 'vitest';
import { startSimulator } from '../../../simulator/index.ts';
import type { Quirks } from '../../../simulator/quirks.ts';
import { configFlag, runHere } from '../../cli/run.ts';
import { openProxy } from '../../support/changing-proxy.ts';

type Element = Record<string, unknown>;

/** Changes each element of the lists of an endpoint. */
interface Change {
  readonly url: RegExp;
  readonly list: string;
  readonly element: (element: Element) => Element | string;
}

const NODES = { url: /\/nodes\/\?/, list: 'nodes' };
const RANGES = { url: /\/nodes\/\w+\/ranges\//, list: 'ranges' };
const DESCRIPTORS = { url: /\/_status\/ranges\//, list: 'ranges' };
const ofNode4 = (more: Element) => (node: Element) =>
  node['node_id'] === 4 ? { ...node, ...more } : node;

/** Answers of servers that cannot be read, are empty or have another form: all are calm, and each node may stop. */
const ROWS: readonly (readonly [title: string, given: Partial<Quirks> | Change, reason: RegExp])[] =
  [
    ['no connection is known', { connectionForm: 'unknown' }, /check .* DRPC/],
    ['states are codes of a newer release', { connectionForm: 'code' }, /check .* DRPC/],
    ['states are names', { connectionForm: 'name' }, /check .* DRPC/],
    ['errors are objects', { connectionForm: 'error-object' }, /check .* DRPC/],
    ['connections are numbers', { connectionForm: 'scalar' }, /check .* DRPC/],
    [
      'one connection has another form',
      { connectionForm: 'code', connectionFormOf: 2, connectionFormTo: 3 },
      /node 2 lists no/,
    ],
    ['a node has too many peers', { connectionFormOf: 1, foreignPeers: 10_001 }, /no current list/],
    [
      'the state of a node is a name',
      { ...NODES, element: ofNode4({ liveness_status: 'LIVE' }) },
      /whether node 4 is live/,
    ],
    [
      'a node has no state',
      { ...NODES, element: ofNode4({ liveness_status: 0 }) },
      /whether node 4 is live/,
    ],
    [
      'the id of a node is a text',
      { ...NODES, element: ofNode4({ node_id: '4' }) },
      /1 listed node could not be read/,
    ],
    [
      'a node is no object',
      { ...NODES, element: (node) => (ofNode4({ x: 1 })(node) === node ? node : 'n4') },
      /1 listed node could not be read/,
    ],
    [
      'ranges are no objects',
      { ...RANGES, element: () => 'range' },
      /could not be read|cannot be read/,
    ],
    [
      'problems are lists',
      { ...RANGES, element: (range) => ({ ...range, problems: [] }) },
      /the problems of 36 replicas could not be read/,
    ],
    [
      'a replica of each descriptor is no object',
      {
        ...DESCRIPTORS,
        element: (range) =>
          JSON.parse(JSON.stringify(range).replaceAll(/\{"nodeId":3,[^}]*\}/g, '"n3"')),
      },
      /12 ranges are not verified/,
    ],
    [
      'a replica has no problems',
      {
        ...RANGES,
        element: ({ problems, ...range }) =>
          range['source_node_id'] === 1 ? range : { ...range, problems },
      },
      /the problems of 12 replicas could not be read/,
    ],
    ...[1, 'true', [true], { is: true }].map(
      (unavailable) =>
        [
          `a replica has ${JSON.stringify(unavailable)} for a problem`,
          {
            ...RANGES,
            element: (range: Readonly<Record<string, unknown>>) =>
              range['source_node_id'] === 1 ? { ...range, problems: { unavailable } } : range,
          },
          /the problems of 12 replicas could not be read/,
        ] as const,
    ),
  ];

async function startCluster(given: Partial<Quirks> | Change) {
  const isChange = 'element' in given;
  const simulator = await startSimulator({
    scenario: 'calm',
    metricKeys: 'useful',
    nodes: 4,
    ranges: 12,
    frozen: true,
    faultyNodes: false,
    quirks: { systemRangesLost: 'works', ...(isChange ? {} : given) },
  });
  onTestFinished(() => simulator.close());
  for (let id = 1; id <= 12; id += 1) simulator.world.placeRange(id, [1, 2, 3]);
  const proxy = await openProxy(simulator.clusterUrl, (url, text) =>
    isChange && given.url.test(url) ? changed(given, text) : text,
  );
  onTestFinished(() => proxy[Symbol.asyncDispose]());
  return configFlag({ ...simulator, clusterUrls: [proxy.url] });
}

test('where all can be read, each node may stop', async () => {
  const flag = await startCluster({});
  expect((await runHere(['nodes', '--safe-to-stop', flag])).code).toBe(0);
});

test.each(ROWS)('is no yes: %s', async (_title, given, reason) => {
  const flag = await startCluster(given);
  const { code, out, err } = await runHere(['nodes', '--safe-to-stop', flag]);
  expect({ code, out }).toEqual({ code: 1, out: '' });
  expect(err).toMatch(reason);
});

/** Those about nodes and their connections. */
const REACHABILITY = ROWS.filter(([, given]) => !('element' in given) || given.url === NODES.url);

test.each(REACHABILITY)('no command says that nodes reach each other: %s', async (_, given) => {
  const flag = await startCluster(given);
  const told = [await runHere(['network', flag]), await runHere(['diagnose', flag])];
  expect(told.map(({ out, err }) => out + err).join('\n')).not.toContain('reach each other');
});

test('where all can be read, both commands say that nodes reach each other', async () => {
  const flag = await startCluster({});
  expect((await runHere(['network', flag])).err).toContain('all live nodes reach each other');
  expect((await runHere(['diagnose', flag])).out).toContain('all live nodes reach each other');
});

function changed({ list, element }: Change, text: string): string {
  const body: Record<string, unknown> = JSON.parse(text);
  const elements: unknown = body[list];
  if (!Array.isArray(elements)) return text;
  return JSON.stringify({ ...body, [list]: elements.map(element) });
}

import { describe, expect, onTestFinished, test } from 'vitest';
import { startSimulator } from '../../../simulator/index.ts';
import { openProxy } from '../../support/changing-proxy.ts';
import { onlyCollectors } from '../../support/collectors.ts';
import { startTestExporter } from '../../support/exporter.ts';

const SMALL = {
  nodes: 3,
  ranges: 40,
  sessions: 4,
  metricKeys: 'useful',
  faultyNodes: false,
} as const;

type Options = Parameters<typeof startSimulator>[0];

async function simulate(options: Options = {}) {
  const simulator = await startSimulator({ ...SMALL, insecure: true, ...options });
  onTestFinished(() => simulator.close());
  return simulator;
}

/** Message and hint of the first warning whose message has these words, of an exporter with these collectors. */
async function findWarning(
  url: string,
  collectors: Parameters<typeof onlyCollectors>[0],
  words: RegExp,
): Promise<{ readonly message: string; readonly hint: string }> {
  const cluster = `clusters: [{ name: sim, cluster_api: { urls: ["${url}"] } }]\n`;
  const yaml = `${onlyCollectors(collectors)}${cluster}`;
  await using exporter = await startTestExporter({ yaml, intervalSeconds: 0.2 });
  const text = String.raw`"(?:[^"\\]|\\.)*"`;
  const line = new RegExp(`level=warn msg=(${text}).* hint=(${text})`, 'g');
  const find = () => [...exporter.log().matchAll(line)].find(([, msg = '']) => words.test(msg));
  await exporter.until(() => find() !== undefined);
  const [, message = '""', hint = '""'] = find() ?? [];
  return { message: String(JSON.parse(message)), hint: String(JSON.parse(hint)) };
}

describe('the remedy of a list of ranges that does not fit is the hint, and not in the message:', () => {
  test('pages of several stores', async () => {
    const { clusterUrl } = await simulate({ storesPerNode: 3 });
    const found = await findWarning(clusterUrl, { ranges: { page_limit: 5 } }, /do not fit/);
    expect(found.hint).toContain('Set collectors.ranges.page_limit to 0.');
    expect(found.message).not.toContain('page_limit');
  });

  const changes = {
    'a replica that is listed twice': {
      change: (list: string) => list.replace(/"ranges":\s*\[(\{.*\})\]/s, '"ranges":[$1,$1]'),
      words: /a replica is listed twice/,
      hint: 'Look for a proxy that repeats parts of responses.',
    },
    'ranges of another node': {
      change: (list: string) => list.replaceAll(/"source_node_id":\s*\d+/g, '"source_node_id":77'),
      words: /ranges of node 77/,
      hint: 'Look for a proxy or load balancer that caches responses',
    },
    'a range id that is too large': {
      change: (list: string) => list.replaceAll(/"range_id":\s*\d+/g, '"range_id":5000000000'),
      words: /the range id 5000000000 is above/,
      hint: 'look for a proxy that changes numbers.',
    },
  };

  test.each(Object.entries(changes))('%s', async (_what, { change, words, hint }) => {
    const { clusterUrl } = await simulate({ storesPerNode: 1 });
    await using proxy = await openProxy(clusterUrl, (url, text) =>
      /\/nodes\/\w+\/ranges\//.test(url) ? change(text) : text,
    );
    const found = await findWarning(proxy.url, { ranges: {} }, words);
    expect(found.hint).toContain(hint);
  });
});

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { type Simulator, startSimulator } from '../../simulator/index.ts';
import { clusterYaml, startTestExporter, type TestExporter } from '../support/exporter.ts';
import { hasProgram } from '../support/programs.ts';
import { eventually, type Prometheus, startPrometheus } from '../support/prometheus.ts';

const EXAMPLE = path.join(import.meta.dirname, '../../config/prometheus/prometheus.example.yml');
const NODES = 3;

interface Job {
  readonly job_name: string;
  readonly http_sd_configs?: readonly { readonly url: string }[];
}

interface Targets {
  readonly activeTargets: readonly {
    readonly labels: Readonly<Record<string, string>>;
    readonly health: string;
  }[];
}

function watch(polled: Simulator, asked: Simulator): Promise<TestExporter> {
  const onRequest = clusterYaml(asked, { name: 'asked' });
  return startTestExporter({
    yaml: `clusters:\n${clusterYaml(polled)}${onRequest}    poll: false\n`,
  });
}

/** The jobs of the example that discover their targets, with these exporters. */
function discoveryOf(hosts: readonly string[]): string {
  const { scrape_configs: jobs }: { readonly scrape_configs: readonly Job[] } = parse(
    readFileSync(EXAMPLE, 'utf8'),
  );
  const own = jobs
    .filter((job) => job.http_sd_configs !== undefined)
    .map((job) => ({ ...job, scheme: 'http', tls_config: undefined, scrape_interval: '1s' }))
    .map((job) => ({ ...job, scrape_timeout: '1s' }));
  return stringify({ scrape_configs: own })
    .replaceAll('crdb-exporter-1:10137', hosts[0] ?? '')
    .replaceAll('crdb-exporter-2:10137', hosts[1] ?? '');
}

async function instancesOf(prometheus: Prometheus, job: string): Promise<readonly string[]> {
  const { activeTargets } = await prometheus.api<Targets>('/api/v1/targets?state=active');
  return activeTargets
    .filter(({ labels }) => labels['job'] === job)
    .map(({ labels }) => labels['instance'] ?? '')
    .toSorted();
}

describe.skipIf(!hasProgram('prometheus'))('a real Prometheus', () => {
  test('discovers nodes once and clusters by both exporters of a pair, also when one is down', async () => {
    await using polled = await startSimulator({ nodes: NODES, ranges: 50, frozen: true });
    await using asked = await startSimulator({ nodes: NODES, ranges: 50, frozen: true });
    await using first = await watch(polled, asked);
    await using second = await watch(polled, asked);
    for (const exporter of [first, second])
      await exporter.until((scrape) => scrape.all('crdb_node_info').length === NODES);
    const hosts = [first, second].map(({ url }) => new URL(url).host);
    const both = hosts.map((host) => `${host}/asked`).toSorted();
    {
      await using prometheus = await startPrometheus(discoveryOf(hosts));
      const nodes = await eventually(async () => {
        const found = await instancesOf(prometheus, 'cockroachdb');
        const clusters = await instancesOf(prometheus, 'crdb-exporter-probe');
        return found.length > 0 && clusters.length > 1 ? found : undefined;
      });
      expect(nodes).toEqual([...new Set(nodes)]);
      expect(nodes).toHaveLength(NODES);
      expect(await instancesOf(prometheus, 'crdb-exporter-probe')).toEqual(both);
      const up = await eventually(async () => {
        const seen = await prometheus.query('up{job="crdb-exporter-probe"} == 1');
        return seen.length === both.length ? seen : undefined;
      });
      expect(up.map(({ labels }) => labels['instance'] ?? '').toSorted()).toEqual(both);
    }
    // A Prometheus that starts while the first exporter is down.
    await using prometheus = await startPrometheus(discoveryOf(['127.0.0.1:9', hosts[1] ?? '']));
    const nodes = await eventually(async () => {
      const found = await instancesOf(prometheus, 'cockroachdb');
      return found.length > 0 ? found : undefined;
    });
    expect(nodes).toHaveLength(NODES);
  });
});

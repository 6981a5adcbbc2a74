import { describe, expect, test } from 'vitest';
import { startSimulator } from '../../simulator/index.ts';
import { onlyCollectors } from '../support/collectors.ts';
import { startTestExporter, type TestExporter } from '../support/exporter.ts';
import { refusing } from '../support/http-server.ts';

const SMALL = {
  nodes: 3,
  ranges: 12,
  sessions: 8,
  metricKeys: 'useful',
  faultyNodes: false,
} as const;

const COLLECTORS = onlyCollectors({ nodes: {}, ranges: {}, sessions: {} });

/** The lines above the level debug, without those of the start and of a busy machine. */
function linesOf(exporter: TestExporter): readonly string[] {
  return exporter
    .log()
    .split('\n')
    .filter((line) => /level=(?:info|warn|error)/.test(line) && !line.includes('listening'))
    .filter((line) => !line.includes('Responses are slow'))
    .map((line) => line.replace(/^time=\S+ /, ''));
}

/** The findings of /api/status that are no failed polls. */
async function findings(
  exporter: TestExporter,
): Promise<readonly { text: string; next: string }[]> {
  const status: {
    clusters: { findings: { key: string; text: string; next: string }[] }[];
  } = JSON.parse((await exporter.get('/api/status')).text);
  const all = status.clusters.flatMap((cluster) => cluster.findings);
  return all.filter(({ key }) => /^(?:URL|own sessions)/.test(key));
}

describe('the log', () => {
  test('and the page report one URL of several that fails', async () => {
    await using simulator = await startSimulator(SMALL);
    const dead = await refusing();
    const login = `username: ${simulator.username}, password: ${simulator.password}`;
    await using exporter = await startTestExporter({
      yaml: `${COLLECTORS}clusters: [{ name: sim, cluster_api: { urls: ["${dead}", "${simulator.clusterUrl}"], ${login} } }]\n`,
      intervalSeconds: 0.2,
    });
    await exporter.until(() => exporter.log().includes('One of 2 URLs fails'));
    await exporter.until(
      (scrape) => (scrape.value('crdb_exporter_polls_total', { collector: 'nodes' }) ?? 0) > 4,
    );
    expect(linesOf(exporter).filter((line) => line.startsWith('level=warn'))).toEqual([
      expect.stringMatching(
        /^level=warn msg="One of 2 URLs fails, the others are used: \w+ at \S+: connect ECONNREFUSED.*" cluster=sim hint="Nothing listens there/,
      ),
    ]);
    const [found, ...others] = await findings(exporter);
    expect(others).toEqual([]);
    expect(found?.text).toMatch(/^One of 2 URLs fails, the others are used: \w+ at \S+: connect /);
    expect(found?.next).toMatch(/^Nothing listens there: .*`crdb-exporter diagnose --cluster sim`/);
  });
});

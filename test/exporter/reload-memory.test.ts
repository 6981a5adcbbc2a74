import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { startSimulator } from '../../simulator/index.ts';
import { COLLECTORS } from '../../src/collectors/all-collectors.ts';
import type { Config } from '../../src/config/keys-and-flags.ts';
import { clusterYaml, startTestExporter } from '../support/exporter.ts';

test('an exporter forgets the clusters of earlier configurations when it is reloaded, though it never polls', async () => {
  await using simulator = await startSimulator({ nodes: 3, ranges: 30, metricKeys: 'useful' });
  const states: WeakRef<object>[] = [];
  const collectors = COLLECTORS.map((collector) => ({
    ...collector,
    createState: () => {
      const state = collector.createState();
      const isObject = typeof state === 'object' && state !== null;
      if (collector.name === 'sessions' && isObject) states.push(new WeakRef(state));
      return state;
    },
  }));
  let config: Config | undefined;
  let maxApplications = 10;
  await using exporter = await startTestExporter({
    yaml: `clusters:\n${clusterYaml(simulator)}    poll: false\n`,
    adapt: (loaded) => (config = loaded),
    app: { collectors, load: async () => ({ config: changed(), warnings: [] }) },
  });
  function changed(): Config {
    if (config === undefined) throw new Error('no configuration was loaded');
    maxApplications += 1;
    const clusters = config.clusters.map((cluster) => {
      const { sessions } = cluster.collectors;
      if (sessions === undefined) return cluster;
      const changedSessions = { ...sessions, max_applications: maxApplications };
      return { ...cluster, collectors: { ...cluster.collectors, sessions: changedSessions } };
    });
    return { ...config, clusters };
  }

  for (let reload = 0; reload < 5; reload += 1) await exporter.app.reload();
  expect(states).toHaveLength(6);
  setFlagsFromString('--expose-gc');
  const collectGarbage: () => void = runInNewContext('gc');
  await expect
    .poll(() => {
      collectGarbage();
      return states.filter((state) => state.deref() !== undefined).length;
    })
    // Those of the running cluster, and of the last one, for which its first poll would wait.
    .toBe(2);
});

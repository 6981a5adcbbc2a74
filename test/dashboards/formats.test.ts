import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { buildBoards } from '../../dashboards/boards.ts';
import { readSettings } from '../../src/alerts/rule-settings.ts';
import { runHere, writeTemporary } from '../cli/run.ts';
import { makeFolder } from '../config/folder.ts';

/** Runs `dashboards` with a new folder. */
async function write(...flags: readonly string[]) {
  const folder = path.join(await makeFolder({}), 'new');
  const { code, out, err } = await runHere(['dashboards', '--output', folder, ...flags]);
  const read = (name: string): string => readFileSync(path.join(folder, name), 'utf8');
  return { code, err, listed: out.split('\n').filter(Boolean), folder, read };
}

const uids = buildBoards().map(({ uid = '' }) => uid);

function plain(board: unknown): unknown {
  return JSON.parse(JSON.stringify(board));
}

test('the command dashboards writes the committed files', async () => {
  const { code, listed, folder, read } = await write();
  expect(code).toBe(0);
  expect(listed).toEqual(uids.map((uid) => path.join(folder, `${uid}.json`)));
  const committed = path.join(import.meta.dirname, '../../dashboards');
  for (const uid of uids)
    expect(read(`${uid}.json`)).toBe(readFileSync(path.join(committed, `${uid}.json`), 'utf8'));
});

test('it writes them for the sidecar and for the operator of Grafana', async () => {
  const sidecar = await write('--format', 'configmap');
  const operator = await write('--format', 'grafana-operator', '--set', 'disk=0.25');
  const names = uids.map((uid) => `${uid}.yaml`).toSorted();
  expect(readdirSync(sidecar.folder).toSorted()).toEqual(names);
  for (const board of buildBoards(readSettings(['disk=0.25']))) {
    const { uid = '' } = board;
    const metadata = { name: `crdb-exporter-dashboard-${uid}` };
    const map = parse(sidecar.read(`${uid}.yaml`));
    expect(map).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap', metadata });
    expect(JSON.parse(map.data[`${uid}.json`])).toMatchObject({ uid });
    expect(Buffer.byteLength(JSON.stringify(map))).toBeLessThan(200_000);
    const { kind, spec } = parse(operator.read(`${uid}.yaml`));
    expect([kind, Object.keys(spec)]).toEqual(['GrafanaDashboard', ['instanceSelector', 'json']]);
    expect(JSON.parse(spec.json)).toEqual(plain(board));
  }
});

test('it takes thresholds and links from the configuration of the exporter', async () => {
  const yaml = `thresholds: { disk: 0.3 }
links: { runbook_url: "https://wiki.example/runbooks" }
clusters: [{ name: a, cluster_api: { urls: ["http://127.0.0.1:1"] } }]
`;
  const file = await writeTemporary('exporter.yml', yaml);
  const { read } = await write(`--config.file=${file}`);
  const settings = readSettings(['disk=0.3', 'runbook_url=https://wiki.example/runbooks']);
  const [fleet] = buildBoards(settings);
  expect(JSON.parse(read('crdb-fleet.json'))).toEqual(plain(fleet));
});

test.each([
  [['--format', 'xml'], /json, configmap, grafana-operator/],
  [['--set', 'dsik=0.5'], /did you mean disk\?/],
])('it refuses %j, and writes nothing', async (flags, message) => {
  const { code, err, folder } = await write(...flags);
  expect(code).toBe(2);
  expect(err).toMatch(message);
  expect(() => readdirSync(folder)).toThrow('ENOENT');
});

test('it names the file that it cannot write', async () => {
  const file = await writeTemporary('file', '');
  const { code, err } = await runHere(['dashboards', '--output', path.join(file, 'folder')]);
  expect(code).toBe(1);
  expect(err).toBe(
    `crdb-exporter: cannot write ${path.join(file, 'folder')}: there is no such folder; correct that, or choose another place with --output\n`,
  );
});

import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { COLLECTORS } from '../../src/collectors/all-collectors.ts';
import { listConfigKeys } from '../../src/config/sources.ts';
import { loadText } from './loading.ts';
import { FILES as PEM } from './web-files.ts';

const EXAMPLE = path.resolve(import.meta.dirname, '../../config/exporter.example.yml');
const FILES = {
  'secrets/crdb': 'hunter2',
  'secrets/cloud': 'hunter2',
  'tls/ca.crt': PEM['ca.crt'],
};

test('the example can be used as it is, once its files are there', async () => {
  const { config, warnings } = await loadText(await readFile(EXAMPLE, 'utf8'), { files: FILES });
  expect(warnings).toEqual([]);
  expect(config.clusters.map(({ name }) => name)).toEqual(['prod']);
});

test('the example shows every default as it is', async () => {
  const minimal = `clusters:
  - name: prod
    cluster_api:
      urls: ["https://crdb-1:8080", "https://crdb-2:8080"]
      username: exporter
      password_file: secrets/crdb
      tls: { ca_file: tls/ca.crt }
    cloud_api: { cluster_id: 35c4abb2-bb66-46d7-afed-25ebef5ed2aa, token_file: secrets/cloud }
    console_url: https://crdb.example.com:8080
    collectors: { ranges: { interval: 2m } }
collectors:
  sessions: { application_rewrite: [{ regex: "^(psql)-[0-9]+$", replacement: $1 }] }
`;
  const shown = await loadText(await readFile(EXAMPLE, 'utf8'), { files: FILES });
  const implied = await loadText(minimal, { files: FILES });
  const text = JSON.stringify(shown.config).replaceAll(/crdb-exporter-test-\w+/g, '');
  expect(text).toBe(JSON.stringify(implied.config).replaceAll(/crdb-exporter-test-\w+/g, ''));
});

test('the example names every key but the thresholds and the options of collectors', async () => {
  const text = await readFile(EXAMPLE, 'utf8');
  const options = listConfigKeys(COLLECTORS).filter(
    ({ path: key }) => !/^(?:thresholds|collectors)\./.test(key),
  );
  const keys = options.map((option) => option.path.split('.').at(-1) ?? '');
  expect([...new Set(keys)].filter((key) => !new RegExp(`\\b${key}\\b`).test(text))).toEqual([]);
});

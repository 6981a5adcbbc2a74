import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'vitest';
import type { Status } from '../../src/status/findings/status.ts';
import type { Scene } from '../browser/scenes.ts';

const ajv = new Ajv2020({ allErrors: true });
ajv.addFormat('date-time', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const validate = ajv.compile(
  JSON.parse(
    readFileSync(path.join(import.meta.dirname, '../../docs/api-status.schema.json'), 'utf8'),
  ),
);

/** The answer of /api/status, checked against its schema. */
export async function readStatus({ exporter }: Pick<Scene, 'exporter'>): Promise<Status> {
  const status: Status = JSON.parse((await exporter.get('/api/status')).text);
  validate(status);
  expect(validate.errors ?? []).toEqual([]);
  return status;
}

/** The only cluster of the scene. */
export async function readCluster(
  scene: Pick<Scene, 'exporter'>,
): Promise<Status['clusters'][number]> {
  const [cluster] = (await readStatus(scene)).clusters;
  if (cluster === undefined) throw new Error('no cluster');
  return cluster;
}

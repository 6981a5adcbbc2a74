import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { BOARDS } from './panels.ts';
import { faultsOf } from './schema.ts';

const FOLDER = path.join(import.meta.dirname, '..', '..', 'dashboards');

function read(uid: string): string {
  return readFileSync(path.join(FOLDER, `${uid}.json`), 'utf8');
}

describe('the schema of Grafana', () => {
  test.each(BOARDS)('allows $title', ({ uid = '' }) => {
    expect(faultsOf(read(uid))).toEqual([]);
  });

  test.each([
    [
      'a dashboard without its version',
      '"schemaVersion":',
      '"version":',
      "CockroachDB / SQL sessions: must have required property 'schemaVersion'",
    ],
    [
      'an unknown member',
      '"fieldConfig": {\n        "defaults": {\n          "unit"',
      '"fieldConfig": {\n        "defaults": {\n          "units"',
      'CockroachDB / SQL sessions / Sessions: /fieldConfig/defaults must NOT have additional properties: "units"',
    ],
    [
      'an option that is of another type of panel',
      '"graphMode": "none"',
      '"showHeader": true',
      'CockroachDB / SQL sessions / Sessions: /options must NOT have additional properties: "showHeader"',
    ],
    [
      'an unknown type of panel',
      '"type": "stat"',
      '"type": "stats"',
      'CockroachDB / SQL sessions / Sessions: unknown type stats, did you mean stat?',
    ],
  ])('refuses %s and names the panel', (_, good, bad, fault) => {
    const text = read('crdb-sql');
    expect(text).toContain(good);
    expect(faultsOf(text.replace(good, bad))).toContain(fault);
  });
});

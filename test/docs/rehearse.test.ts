import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { startSimulator } from '../../simulator/index.ts';

const PAGE = readFileSync(path.join(import.meta.dirname, '../../docs/rehearse.md'), 'utf8');
/** The calls of the control address: method, path and body. */
const CALLS = Array.from(
  PAGE.matchAll(/curl (?:-X (\w+) )?127\.0\.0\.1:10150(\/[\w/-]+)(?: -d '([^']+)')?/g),
  ([, method, call = '', body]) => ({ method: method ?? 'POST', call, body }),
);

test('every call of the rehearsal does something, in the order of the page', async () => {
  await using simulator = await startSimulator({
    nodes: 5,
    ranges: 60,
    scenario: 'calm',
    metricKeys: 'useful',
    controlListen: { host: '127.0.0.1', port: 0 },
  });
  expect(CALLS).toHaveLength(PAGE.match(/curl [^\n]*10150\//g)?.length ?? 0);
  expect(CALLS.length).toBeGreaterThan(8);
  for (const { method, call, body } of CALLS) {
    const init = { method, ...(body !== undefined && { body }) };
    const response = await fetch(`${simulator.controlUrl}${call}`, init);
    expect([call, response.status, await response.text()]).toEqual([call, 200, '{}\n']);
  }
});

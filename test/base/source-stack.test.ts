import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { sourceStack } from '../../src/base/source-stack.ts';

/** The stack of an error that was thrown at this place. */
function stackOf(place: string): string | undefined {
  return sourceStack(
    Object.assign(new Error('failed'), { stack: `Error: failed\n    at ${place}` }),
  );
}

test('a stack names places as editors count them: lines and columns from 1', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'crdb-exporter-stack-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  // The fifth column of the compiled line comes from line 3, column 7.
  const map = { version: 3, sources: ['../src/poll.ts'], names: [], mappings: 'AAAA,IAEM' };
  writeFileSync(path.join(folder, 'main.cjs.map'), JSON.stringify(map));
  const source = path.join(folder, '../src/poll.ts');
  expect(stackOf(`poll (${folder}/main.cjs:1:5)`)).toBe(
    `Error: failed\n    at poll (${source}:3:7)`,
  );
  const unknown = `poll (${folder}/other.cjs:1:5)`;
  expect(stackOf(unknown)).toBe(`Error: failed\n    at ${unknown}`);
});

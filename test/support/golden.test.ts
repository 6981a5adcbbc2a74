import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';

const ROOT = path.join(import.meta.dirname, '../..');

/** A project with one test, which compares a text with a golden file that is missing. */
function createProject(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'crdb-exporter-golden-'));
  mkdirSync(path.join(folder, 'test'));
  const support = path.join(ROOT, 'test/support/golden.ts');
  const missing = path.relative(ROOT, path.join(folder, 'missing.txt'));
  writeFileSync(
    path.join(folder, 'test/golden.test.ts'),
    `import { expectGolden } from '${support}';
test('golden', () => expectGolden('text', '${missing}', 'npm run missing'));
`,
  );
  return folder;
}

test('a missing golden file fails without CI, too, and names the command that writes it', () => {
  const folder = createProject();
  const { CI: _ci, ...env } = process.env;
  try {
    const { status, stdout, stderr } = spawnSync(
      path.join(ROOT, 'node_modules/.bin/vitest'),
      [
        'run',
        '--globals',
        '--project=together',
        '--root',
        folder,
        '--config',
        path.join(ROOT, 'vitest.config.ts'),
      ],
      { cwd: ROOT, env, encoding: 'utf8' },
    );
    expect(stdout + stderr).toContain('missing.txt is missing or differs; `npm run missing`');
    expect(status).toBe(1);
    expect(readdirSync(folder)).not.toContain('missing.txt');
  } finally {
    rmSync(folder, { recursive: true });
  }
});

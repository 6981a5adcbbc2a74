import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { COLLECTORS } from '../../src/collectors/all-collectors.ts';
import { ConfigError } from '../../src/config/issues.ts';
import { loadConfig } from '../../src/config/load.ts';
import { listConfigKeys } from '../../src/config/sources.ts';
import { makeFolder } from './folder.ts';

const ROOT_KEYS = [
  'web',
  'log',
  'shard',
  'config',
  'thresholds',
  'links',
  'clusters',
  'collectors',
];
const KEYS = listConfigKeys(COLLECTORS).flatMap((key) => key.path.split(/\[\]\.|\./));

const key = fc.oneof(
  fc.constantFrom(...KEYS),
  fc.constantFrom('__proto__', 'constructor', 'toString', '0', '<<', ''),
  fc.stringMatching(/^[a-z_]{1,8}$/),
);
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(null, true, 1, -1.5, '', 'prod', '30s', '2GiB', 'https://crdb:8080', 'local'),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(key, tie('value'), { maxKeys: 5 }),
  ),
}));
const root = fc.oneof(fc.constantFrom(...ROOT_KEYS), key);

test('whatever a configuration holds, loading it ends, and names every unknown key of the root', async () => {
  const file = path.join(await makeFolder({ 'exporter.yml': '' }), 'exporter.yml');
  await fc.assert(
    fc.asyncProperty(fc.dictionary(root, value, { maxKeys: 5 }), async (document) => {
      await writeFile(file, JSON.stringify(document));
      const loading = loadConfig({
        flags: { 'config.file': file },
        env: {},
        collectors: COLLECTORS,
      });
      const error = await loading.then(
        () => undefined,
        (reason: unknown) => reason,
      );
      if (error !== undefined && !(error instanceof ConfigError)) throw error;
      const problems = error?.problems ?? [];
      const unknown = Object.keys(document).filter((name) => !ROOT_KEYS.includes(name));
      const reported = problems.map(({ message }) => message.replace(/;.*$/s, ''));
      for (const name of unknown) expect(reported).toContain(`unknown key ${JSON.stringify(name)}`);
    }),
    { numRuns: 300 },
  );
});

import { test } from 'vitest';
import { buildConfigSchema } from '../../tools/docs/config-schema.ts';
import { expectGolden } from '../support/golden.ts';

test('the committed schema is generated from that of the loader', async () => {
  const written = `${JSON.stringify(buildConfigSchema(), undefined, 2)}\n`;
  await expectGolden(written, 'config/exporter.schema.json');
});

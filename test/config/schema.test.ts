import { test } from 'vitest';
import { buildConfigSchema } from '../../tools/docs/config-schema.ts';
import { expectGolden } from '../support/golden.ts';

const COMMAND = 'npx vitest run -u --project together test/config/schema';

test('the committed schema is generated from that of the loader', async () => {
  const written = `${JSON.stringify(buildConfigSchema(), undefined, 2)}\n`;
  await expectGolden(written, 'config/exporter.schema.json', COMMAND);
});

import { test } from 'vitest';
import { configSchema } from '../../src/config/schema.ts';
import { COLLECTORS } from '../../src/collectors/index.ts';
import { expectGolden } from '../support/golden.ts';

const COMMAND = 'npx vitest run -u --project together test/config/schema';

test('the committed schema is what the table of options gives', async () => {
  const written = `${JSON.stringify(configSchema(COLLECTORS), undefined, 2)}\n`;
  await expectGolden(written, 'config/exporter.schema.json', COMMAND);
});

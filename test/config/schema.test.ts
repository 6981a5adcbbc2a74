import { expect, test } from 'vitest';
import { configSchema } from '../../src/config/schema.ts';
import { COLLECTORS } from '../../src/collectors/index.ts';

test('the committed schema is what the table of options gives (vitest -u writes it anew)', async () => {
  const written = `${JSON.stringify(configSchema(COLLECTORS), undefined, 2)}\n`;
  await expect(written).toMatchFileSnapshot('../../config/exporter.schema.json');
});

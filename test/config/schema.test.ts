import { expect, test } from 'vitest';
import { configSchema } from '../../src/config/schema.ts';
import { ROOMS } from './rooms.ts';

test('the committed schema is what the table of options gives (vitest -u writes it anew)', async () => {
  const written = `${JSON.stringify(configSchema(ROOMS), undefined, 2)}\n`;
  await expect(written).toMatchFileSnapshot('../../config/exporter.schema.json');
});

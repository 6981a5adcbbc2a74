import { expect, test } from 'vitest';
import { buildConfigSchema } from '../../tools/docs/config-schema.ts';

test('the committed schema is generated from that of the loader (vitest -u writes it again)', async () => {
  const written = `${JSON.stringify(buildConfigSchema(), undefined, 2)}\n`;
  await expect(written).toMatchFileSnapshot('../../config/exporter.schema.json');
});

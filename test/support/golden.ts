import path from 'node:path';
import { expect } from 'vitest';

const ROOT = path.join(import.meta.dirname, '..', '..');

/** Fails unless the text is that of the committed file, named from the project's root, which the command writes. */
export async function expectGolden(
  text: string,
  file: string,
  command = 'npm run golden',
): Promise<void> {
  const remedy = `${file} is missing or differs; \`${command}\` writes it`;
  await expect(text, remedy).toMatchFileSnapshot(path.join(ROOT, file));
}

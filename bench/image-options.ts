import { readFileSync } from 'node:fs';
import path from 'node:path';

const DOCKERFILE = path.join(import.meta.dirname, '..', 'Dockerfile');
const ENTRYPOINT = /^ENTRYPOINT (\[.*\])$/m;

/** The options of Node that stand in the entry point of the image: what is shipped is what is measured. */
export function optionsOfImage(): readonly string[] {
  const [, list = '[]'] = ENTRYPOINT.exec(readFileSync(DOCKERFILE, 'utf8')) ?? [];
  const words: string[] = JSON.parse(list);
  return words.filter((word) => word.startsWith('--'));
}

import { readFileSync } from 'node:fs';
import path from 'node:path';

const DOCKERFILE = path.join(import.meta.dirname, '..', 'Dockerfile');
const ENTRYPOINT = /^ENTRYPOINT (\[.*\])$/m;

/** The Node.js options of the entry point of the image. */
export function optionsOfImage(): readonly string[] {
  const [, list = '[]'] = ENTRYPOINT.exec(readFileSync(DOCKERFILE, 'utf8')) ?? [];
  const words: string[] = JSON.parse(list);
  return words.filter((word) => word.startsWith('--'));
}

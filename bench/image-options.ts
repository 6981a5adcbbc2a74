import { readFileSync } from 'node:fs';
import path from 'node:path';

const SCRIPT = path.join(import.meta.dirname, '..', 'config', 'linux', 'crdb-exporter');

/** The Node.js options with which the image, the tarball and the system packages start the exporter. */
export function optionsOfImage(): readonly string[] {
  const command = /^exec \S+ (.*) \S*main\.cjs/m.exec(readFileSync(SCRIPT, 'utf8'))?.[1];
  if (command === undefined) throw new Error(`no command in ${SCRIPT}`);
  return command.split(' ');
}

import { readFileSync } from 'node:fs';
import path from 'node:path';

const LAUNCHER = path.join(import.meta.dirname, '..', 'config', 'image', 'crdb-exporter');

/** The Node.js options with which the image starts the exporter. */
export function optionsOfImage(): readonly string[] {
  const command = /^exec \S*node (.*) \S*main\.js/m.exec(readFileSync(LAUNCHER, 'utf8'))?.[1];
  if (command === undefined) throw new Error(`no command in ${LAUNCHER}`);
  return command.split(' ');
}

// `npm run artefacts -- FOLDER`: builds the npm package, the tarballs, .deb and .rpm for x64 and arm64, their bill of materials
// and their checksums. A .deb and a .rpm need nfpm, arm64 needs the npm registry.
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { buildArtefacts } from './artefacts.ts';
import { PROCESSORS } from './node-runtime.ts';
import { PACKAGERS } from './system-packages.ts';

const folder = path.resolve(process.argv[2] ?? 'artefacts');
mkdirSync(folder);
for (const name of await buildArtefacts(folder, {
  processors: PROCESSORS,
  packagers: PACKAGERS,
  isQuick: false,
})) {
  process.stdout.write(`${path.join(folder, name)}\n`);
}

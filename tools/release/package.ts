// `npm run artefacts -- FOLDER`: builds the npm package, the tarballs, .deb and .rpm for x64 and arm64, their bill of materials
// and their checksums, and says what it did not make. A .deb and a .rpm need nfpm, arm64 needs the npm registry.
import { existsSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import { buildArtefacts, listLeftOut } from './artefacts.ts';
import { PROCESSORS } from './node-runtime.ts';
import { PACKAGERS } from './system-packages.ts';

const folder = path.resolve(process.argv[2] ?? 'artefacts');
if (existsSync(folder)) {
  console.error(`${folder} exists: name a new folder, npm run artefacts -- FOLDER`);
  process.exitCode = 2;
} else {
  mkdirSync(folder, { recursive: true });
  const wanted = { processors: PROCESSORS, packagers: PACKAGERS };
  const names = await buildArtefacts(folder, { ...wanted, isQuick: false });
  for (const name of names) process.stdout.write(`${path.join(folder, name)}\n`);
  for (const line of listLeftOut(names, wanted)) console.error(line);
}

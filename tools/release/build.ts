// `npm pack` runs this first: compiles the program to dist/, because Node.js strips no types below node_modules.
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { readBuild } from '#base';
import { bundleProgram } from './bundle.ts';
import { ROOT } from './programs.ts';
import { writeThirdPartyLicences } from './third-party.ts';

const DIST = path.join(ROOT, 'dist');

// A build without a checkout around it, like that of the image, is told.
const revision = process.env['REVISION'] ?? readBuild().revision;
const packages = await bundleProgram(DIST);
writeFileSync(path.join(DIST, 'revision'), `${revision}\n`);
writeFileSync(path.join(DIST, 'THIRD-PARTY-LICENSES'), writeThirdPartyLicences(packages));

// `npm run docs`: generates docs/configuration.md and a part of docs/compatibility.md. A test checks that both are up to date.
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { writeConfigurationPage } from './configuration-page.ts';
import { updateCompatibilityPage } from './fields-section.ts';

const DOCS = path.join(import.meta.dirname, '../../docs');
const COMPATIBILITY = path.join(DOCS, 'compatibility.md');

writeFileSync(path.join(DOCS, 'configuration.md'), writeConfigurationPage());
writeFileSync(COMPATIBILITY, updateCompatibilityPage(readFileSync(COMPATIBILITY, 'utf8')));

// `npm run docs`: generates docs/configuration.md and tools/docs/server-fields.md. A test checks that both are up to date.
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { writeConfigurationPage } from './configuration-page.ts';
import { writeFieldsPage } from './fields-page.ts';

const DOCS = path.join(import.meta.dirname, '../../docs');

writeFileSync(path.join(DOCS, 'configuration.md'), writeConfigurationPage());
writeFileSync(path.join(import.meta.dirname, 'server-fields.md'), writeFieldsPage());

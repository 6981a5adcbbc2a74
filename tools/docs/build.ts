// `npm run docs`: generates docs/configuration.md. A test checks that it is up to date.
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { writeConfigurationPage } from './configuration-page.ts';

writeFileSync(
  path.join(import.meta.dirname, '../../docs/configuration.md'),
  writeConfigurationPage(),
);

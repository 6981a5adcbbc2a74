// `npm run docs`: the pages that are made from the program itself. A test checks that they are fresh.
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { writeConfigurationPage } from './configuration-page.ts';

writeFileSync(
  path.join(import.meta.dirname, '../../docs/configuration.md'),
  writeConfigurationPage(),
);

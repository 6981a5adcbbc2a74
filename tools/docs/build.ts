// `npm run docs`: generates docs/configuration.md, docs/metrics.md, the table of docs/load.md and tools/docs/server-fields.md. Tests check that they are up to date.
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { writeConfigurationPage } from './configuration-page.ts';
import { writeFieldsPage } from './fields-page.ts';
import { writeLoadPage } from './load-table.ts';
import { writeMetricsPage } from './metrics-page.ts';

const DOCS = path.join(import.meta.dirname, '../../docs');

writeFileSync(path.join(DOCS, 'configuration.md'), writeConfigurationPage());
writeFileSync(path.join(DOCS, 'metrics.md'), writeMetricsPage());
const load = path.join(DOCS, 'load.md');
writeFileSync(load, writeLoadPage(readFileSync(load, 'utf8')));
writeFileSync(path.join(import.meta.dirname, 'server-fields.md'), writeFieldsPage());

// `npm run rules`: writes what follows from config/prometheus/rules.template.yml: the shipped rules, and what TypeScript
// needs of the alerts. Tests check that both are up to date.
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { readSettings, writeRules } from '#alerts';
import { writeAlerts } from './alert-list.ts';

const ROOT = path.join(import.meta.dirname, '../..');

writeFileSync(path.join(ROOT, 'src/alerts/alerts.generated.ts'), writeAlerts());
writeFileSync(path.join(ROOT, 'config/prometheus/rules.yml'), writeRules(readSettings([])));

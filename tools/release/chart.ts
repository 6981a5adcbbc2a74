// `npm run chart`: writes the version, the rules and the values schema of the Helm chart, and the manifests for use without Helm.
// Needs helm.
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { CHART, EXAMPLES, renderChart } from './helm.ts';
import { ROOT, works } from './programs.ts';
import { writeRulesTemplate } from './rules-template.ts';
import { makeValuesSchema } from './values-schema.ts';

writeVersion();
writeSchema();
writeFileSync(path.join(CHART, 'templates', 'prometheusrule.yaml'), writeRulesTemplate());
if (works('helm', 'version')) {
  for (const { manifests, values } of EXAMPLES) {
    writeFileSync(manifests, renderChart(CHART, values));
  }
} else {
  console.error(
    'The chart is written, but not the manifests for use without Helm: they need helm (https://helm.sh), which is not installed.',
  );
  process.exitCode = 1;
}

function writeVersion(): void {
  const file = path.join(CHART, 'Chart.yaml');
  const manifest: { readonly version: string } = JSON.parse(read(path.join(ROOT, 'package.json')));
  writeFileSync(
    file,
    read(file).replace(/^(version|appVersion): .*$/gm, `$1: ${manifest.version}`),
  );
}

function writeSchema(): void {
  const exporter: Readonly<Record<string, unknown>> = JSON.parse(
    read(path.join(ROOT, 'config', 'exporter.schema.json')),
  );
  const schema = JSON.stringify(makeValuesSchema(exporter), null, 2);
  writeFileSync(path.join(CHART, 'values.schema.json'), `${schema}\n`);
}

function read(file: string): string {
  return readFileSync(file, 'utf8');
}

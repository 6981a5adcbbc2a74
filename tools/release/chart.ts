// `npm run chart`: writes the version, the icon, the rules and the values schema of the Helm chart, and the manifests for use without Helm.
// Needs helm.
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { CHART, EXAMPLES, renderChart } from './helm.ts';
import { ROOT, works } from './programs.ts';
import { writeRulesTemplate } from './rules-template.ts';
import { makeValuesSchema } from './values-schema.ts';

writeVersionAndIcon();
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

/** The icon is that of the status page, in the file itself: it needs no server. */
function writeVersionAndIcon(): void {
  const file = path.join(CHART, 'Chart.yaml');
  const manifest: { readonly version: string } = JSON.parse(read(path.join(ROOT, 'package.json')));
  const icon = readFileSync(path.join(ROOT, 'src/status/page/icon.svg')).toString('base64');
  writeFileSync(
    file,
    read(file)
      .replace(/^(version|appVersion): .*$/gm, `$1: ${manifest.version}`)
      .replace(/^icon: .*$/m, `icon: data:image/svg+xml;base64,${icon}`),
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

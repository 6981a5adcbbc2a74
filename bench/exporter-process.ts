// The exporter with a configuration as YAML.
import { startTestExporter } from '../test/support/exporter.ts';
import { selfWatch } from './cost.ts';
import { serveCalls } from './process.ts';

/** The argument of this program. */
export interface ExporterStart {
  readonly yaml: string;
}

const { yaml }: ExporterStart = JSON.parse(process.argv[2] ?? '{}');
const exporter = await startTestExporter({ yaml });

serveCalls({
  url: () => `${exporter.url}/metrics`,
  ...selfWatch(),
});

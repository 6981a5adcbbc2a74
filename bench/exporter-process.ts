// The exporter as it runs, with the configuration that it is given as YAML.
import { startTestExporter } from '../test/support/exporter.ts';
import { selfWatch } from './cost.ts';
import { answerQuestions } from './process.ts';

/** What the exporter is started with. */
export interface ExporterStart {
  readonly yaml: string;
}

const { yaml }: ExporterStart = JSON.parse(process.argv[2] ?? '{}');
const exporter = await startTestExporter({ yaml });

answerQuestions({
  url: () => `${exporter.url}/metrics`,
  ...selfWatch(),
});

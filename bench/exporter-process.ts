// The exporter as it runs, with the configuration that it is given as YAML.
import { startTestExporter } from '../test/support/exporter.ts';
import { selfWatch } from './cost.ts';
import { answerQuestions } from './process.ts';

const { yaml }: { yaml: string } = JSON.parse(process.argv[2] ?? '{}');
const exporter = await startTestExporter({ yaml });

answerQuestions({
  url: () => `${exporter.url}/metrics`,
  ...selfWatch(),
});

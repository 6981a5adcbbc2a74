import { type Infer, object, string } from '../../json/shape.ts';
import { type Cell, drawGrid, pageOf } from '../grid.ts';
import { writeJson } from '../json-text.ts';
import type { Format } from '../listing.ts';
import { writeOut } from '../standard-output.ts';

export const assistantShape = object({
  id: string(),
  cluster_id: string(),
  deployed_region: string(),
  status: string(),
  health: string(),
  created_at: string(),
  updated_at: string(),
  url: string(),
  username: string(),
  password: string(),
  bucket_grantee: string(),
  last_error: string(),
});

export type Assistant = Infer<typeof assistantShape>;

const HIDDEN = '<secret>';

/** Prints the assistant, names as in the API; its password only where that is asked for. */
export async function printAssistant(
  assistant: Assistant,
  { output, showPassword = false }: { readonly output: Format; readonly showPassword?: boolean },
): Promise<void> {
  const isHidden = !showPassword && assistant.password !== '';
  const shown = isHidden ? { ...assistant, password: HIDDEN } : assistant;
  if (output !== 'table') {
    await writeOut(`${writeJson(shown, output === 'json' ? 2 : 0)}\n`);
    return;
  }
  const columns = ['FIELD', 'VALUE'].map((title) => ({ title, alignRight: false, shrinks: false }));
  const rows = Object.entries(shown)
    .filter(([, value]) => value !== undefined && value !== '')
    .map(([name, value = '']): Cell[] => [
      { text: name.replaceAll('_', ' ') },
      { text: value, style: name === 'status' ? styleOf(value) : undefined },
    ]);
  await writeOut(`${[...drawGrid(columns, rows, pageOf(process.stdout))].join('\n')}\n`);
}

function styleOf(status: string): Cell['style'] {
  if (status === 'RUNNING') return 'green';
  return status === 'FAILED' ? 'red' : 'yellow';
}

import type { Command as CompletedCommand } from '@bomb.sh/tab';
import addCommands from '@bomb.sh/tab/commander';
import type { Command } from 'commander';
import { SETTINGS } from '#alerts';
import {
  CONFIG_FILE,
  ConfigIssues,
  type Environment,
  findFile,
  isMap,
  readDocument,
} from '#config';
import { listCatalogue } from '#exporter';

type Words = readonly (readonly [word: string, about: string])[];

/**
 * Adds the hidden command that the scripts of `completion` call. It completes commands, options and their choices, and beside
 * them metrics, settings of rules, and the clusters of the configuration file that the line or the environment names.
 */
export async function addCompletion(
  program: Command,
  args: readonly string[],
  env: Environment,
): Promise<void> {
  const root = addCommands(program);
  // Without a command the options are those of the exporter.
  for (const [name, option] of root.commands.get('serve')?.options ?? []) {
    root.options.set(name, option);
  }
  const metrics = listCatalogue().map(({ name, help }) => [name, help] as const);
  root.commands.get('reference')?.argument('name', (complete) => {
    for (const [name, help] of metrics) complete(name, help);
  });
  const settings = Object.entries(SETTINGS).map(([name, [, , about]]) => [name, about] as const);
  for (const name of ['rules', 'dashboards']) {
    completeOption(root.commands.get(name), 'set', settings);
  }
  const clusters = await readClusterNames(args, env);
  for (const command of root.commands.values()) completeOption(command, 'cluster', clusters);
}

function completeOption(command: CompletedCommand | undefined, name: string, words: Words): void {
  const option = command?.options.get(name);
  if (option === undefined) return;
  const end = name === 'set' ? '=' : '';
  option.handler = (complete) => {
    for (const [word, about] of words) complete(word + end, about);
  };
}

/** The names of the clusters; none where there is no file, or it cannot be read. */
async function readClusterNames(args: readonly string[], env: Environment): Promise<Words> {
  const flag = `--${CONFIG_FILE.flag}`;
  const at = args.findLastIndex((arg) => arg === flag || arg.startsWith(`${flag}=`));
  const written = args[at]?.includes('=') ? args[at].slice(flag.length + 1) : args[at + 1];
  const file = findFile({ flags: at === -1 ? {} : { [CONFIG_FILE.flag]: written }, env });
  if (file === undefined) return [];
  const { input } = await readDocument(file, 'the configuration file', new ConfigIssues());
  const clusters = Array.isArray(input['clusters']) ? input['clusters'] : [];
  const names = clusters.map((cluster: unknown) => isMap(cluster) && cluster['name']);
  return names.filter((name) => typeof name === 'string').map((name) => [name, ''] as const);
}

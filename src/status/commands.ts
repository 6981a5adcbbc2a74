import { quoteArgument } from '#base';
import type { CommandForm } from './findings/status.ts';

/** Commands that read the configuration as a whole. */
const OF_ALL_CLUSTERS = /^check\b/;

/** A command of this program for one of this many clusters: `range 7` becomes `crdb-exporter range 7 --config.file=…`. */
export function completeCommand(
  words: string,
  { program, options }: CommandForm,
  clusters: number,
  cluster: string,
): string {
  const isComplete = clusters < 2 || words.includes('--cluster ') || OF_ALL_CLUSTERS.test(words);
  const flag = isComplete ? '' : ` --cluster ${quoteArgument(cluster)}`;
  return `${program} ${words}${options}${flag}`;
}

/** A text whose commands of this program, in backquotes, are complete. */
export function completeCommands(
  text: string,
  ...given: [form: CommandForm, clusters: number, cluster: string]
): string {
  return text.replaceAll(
    /`crdb-exporter ([^`]+)`/g,
    (_, words: string) => `\`${completeCommand(words, ...given)}\``,
  );
}

import { SECTIONS } from './commands-sections.ts';

const INTRODUCTION = `# Commands

\`npm run docs:commands\` generates this page on the built-in simulator.

\`crdb-exporter\` without a command runs the exporter; other functions are subcommands. Every command takes \`--help\`. Those
that query a cluster use the configuration, flags and limits of the exporter ([where to run them](run-commands.md)), and log out at the
end. \`--cluster NAME\` chooses one of several configured clusters; only its secrets are needed.

| Exit code | Meaning |
| --- | --- |
| 0 | success, also of a list that lacks a node (a warning on standard error names it) |
| 1 | failure: \`check\` found errors, \`diagnose\` found problems, the object does not exist, the service refused |
| 2 | wrong usage, an invalid configuration, an unknown cluster, or a command that changes something without \`--yes\` in a non-interactive session |
| 130 | cancelled by Ctrl-C |
| 143 | cancelled by SIGTERM; \`serve\`, \`demo\` and \`simulate\` end with 0 after both signals |

Standard output holds data only; messages go to standard error. \`--verbose\` logs each request there. On a terminal, tables fit its width
and have colours unless \`NO_COLOR\` is set. A narrow one cuts long values in the middle, but never a table's name, a problem or the id of
a session, and hides the last columns; a message names them, and \`--wide\` shows all. \`--sort COLUMN\` orders a table; without it the worst
comes first. \`--output json\` prints one document, \`--output ndjson\` one object per line. SQL text, client addresses and keys are omitted
without their own flags.
`;

/** Resolves to the output of a command, standard error first. */
export type RunCommand = (args: readonly string[]) => Promise<string>;

const MAX_LINE_LENGTH = 160;

/** The text of docs/commands.md; `run` runs a command on the simulator that \`exporter.yml\` describes. */
export async function writeCommandsPage(run: RunCommand): Promise<string> {
  const parts = [INTRODUCTION];
  for (const { title, text, commands, lines = 10 } of SECTIONS) {
    parts.push(`## ${title}\n\n${text}\n`);
    for (const command of commands) {
      const printed = await run([...command.split(' '), '--config.file=exporter.yml']);
      const line = `$ crdb-exporter ${command} --config.file=exporter.yml`;
      parts.push(`\`\`\`console\n${line}\n${shorten(printed, lines)}\n\`\`\`\n`);
    }
  }
  return parts.join('\n');
}

function shorten(printed: string, maxLines: number): string {
  const lines = printed
    .trimEnd()
    .split('\n')
    .map((line) => (line.length > MAX_LINE_LENGTH ? `${line.slice(0, MAX_LINE_LENGTH)}…` : line));
  return lines.length > maxLines ? [...lines.slice(0, maxLines), '…'].join('\n') : lines.join('\n');
}

/** The lines that are the same in each run: headings, commands and the titles of columns. */
export function structureOf(page: string): readonly string[] {
  return page
    .split('\n')
    .filter((line) => /^(?:#|\$|[A-Z][A-Z/ ]+$)/.test(line))
    .map((line) => line.replaceAll(/ {2,}/g, '  '));
}

import { SECTIONS } from './commands-sections.ts';

const INTRODUCTION = `# Commands

The transcripts below are made by \`npm run docs:commands\` on the built-in simulator.

\`crdb-exporter\` alone runs the exporter; a word behind it asks for something else. Every command takes \`--help\`. Those that
ask a cluster read the same configuration, flags and secrets as the exporter and go through the same clients and limits;
they log out the session they made. \`--cluster NAME\` chooses one of several configured clusters.

| Exit code | Means |
| --- | --- |
| 0 | done |
| 1 | failed: \`check\` found errors, \`diagnose\` found trouble, nothing is there, the service refused |
| 2 | wrong usage, a configuration that cannot be used, or a writing command without \`--yes\` where nobody can be asked |
| 130 | ended by Ctrl-C |

Standard output is data alone; everything else goes to standard error. On a terminal tables fit its width and have
colours unless \`NO_COLOR\` is set; \`--sort COLUMN\` orders them. \`--output json\` gives one document and
\`--output ndjson\` one object a line, written page by page, so that a list of any length needs the same memory. Their names
are those of the API, complete but for SQL text, client addresses and keys, which have flags of their own.
`;

/** What a command printed, standard error first. */
export type RunCommand = (args: readonly string[]) => Promise<string>;

/** Lines of one output that are shown. */
const MOST_LINES = 26;
const WIDEST_LINE = 160;

/** The text of docs/commands.md; `run` runs a command on the simulator that \`exporter.yml\` describes. */
export async function writeCommandsPage(run: RunCommand): Promise<string> {
  const parts = [INTRODUCTION];
  for (const { title, text, commands } of SECTIONS) {
    parts.push(`## ${title}\n\n${text}\n`);
    for (const command of commands) {
      const printed = await run([...command.split(' '), '--config.file=exporter.yml']);
      const line = `$ crdb-exporter ${command} --config.file=exporter.yml`;
      parts.push(`\`\`\`console\n${line}\n${shorten(printed)}\n\`\`\`\n`);
    }
  }
  return parts.join('\n');
}

function shorten(printed: string): string {
  const lines = printed
    .trimEnd()
    .split('\n')
    .map((line) => (line.length > WIDEST_LINE ? `${line.slice(0, WIDEST_LINE)}…` : line));
  return lines.length > MOST_LINES
    ? [...lines.slice(0, MOST_LINES), '…'].join('\n')
    : lines.join('\n');
}

/** What does not change from run to run: headings, text, commands and the titles of columns. */
export function structureOf(page: string): readonly string[] {
  return page
    .split('\n')
    .filter((line) => /^(?:#|\$|[A-Z][A-Z/ ]+$)/.test(line))
    .map((line) => line.replaceAll(/ {2,}/g, '  '));
}

import { COLLECTORS } from '../../src/collectors/index.ts';
import { environmentName, listConfigKeys } from '../../src/config/flags.ts';
import type { ConfigKey } from '../../src/config/keys.ts';

const INTRODUCTION = `# Configuration

Generated from the schema of the configuration by \`npm run docs\`.

Every setting has a key in the file given by \`--config.file\`; some have a flag and with it a variable, too. A flag wins over
its variable, the variable over the file, the file over the default. Unknown keys are errors, and \`--config.check\` reports
every error at once with file, line and column. [config/exporter.example.yml](../config/exporter.example.yml) is a file with
all keys; [config/exporter.schema.json](../config/exporter.schema.json) lets editors check and complete it.

Durations are written as \`500ms\`, \`30s\` or \`1m30s\`, sizes as \`16KiB\` or \`2GiB\`. Paths are relative to the file. A
repeatable flag's variable is separated by commas. No flag takes a secret itself; the variables that do are named below.
The flag \`--config.file\` (\`CRDB_EXPORTER_CONFIG_FILE\`) has no key. Without a file the flags \`--cluster.*\` and
\`--cloud.*\` describe one cluster, called \`default\` unless named.

The configuration and every file that it names are regular files of at most 1 MiB. Every user of the machine being able to read
a secret file, or a configuration with a password or token in it, causes a warning (fix: \`chmod o-r\`), as does every user being
able to change any of these files (\`chmod o-w\`). Owner and group may be any that let the exporter read the file, such as
root:crdb-exporter with mode 0640.

SIGHUP reloads everything, as does a POST to \`/-/reload\` with \`--web.enable-lifecycle\`, and a change of the file with
\`--config.auto-reload\`. A configuration file with errors changes nothing; a web config file with errors keeps its last good
content in force, whatever becomes of the configuration. Settings under \`web\` take effect at the next start.
`;

/** The text of docs/configuration.md. */
export function writeConfigurationPage(): string {
  const sections = Map.groupBy(listConfigKeys(COLLECTORS), sectionOf);
  return [
    INTRODUCTION,
    ...Array.from(sections, ([section, options]) => writeSection(section, options)),
  ].join('\n');
}

/** The map that the key stands in; those of the root have none. */
function sectionOf({ path }: ConfigKey): string {
  return path.includes('.') ? path.slice(0, path.lastIndexOf('.')) : 'root';
}

function writeSection(section: string, options: readonly ConfigKey[]): string {
  const title = section === 'root' ? 'Keys of the root' : `\`${section}\``;
  const rows = options.map((option) => writeRow(option, section));
  const head = '| Key | Default | Flag and variable | Meaning |\n| --- | --- | --- | --- |';
  return `## ${title}\n\n${[head, ...rows].join('\n')}\n`;
}

function writeRow(option: ConfigKey, section: string): string {
  const key = section === 'root' ? option.path : option.path.slice(section.length + 1);
  const cells = [`\`${key}\``, writeDefault(option), writeGivenBy(option), option.help];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

function writeDefault(option: ConfigKey): string {
  if (option.default === undefined) return '–';
  const written =
    typeof option.default === 'string' ? option.default : JSON.stringify(option.default);
  return `\`${written}\``;
}

function writeGivenBy({ flag, variable }: ConfigKey): string {
  const names = flag === undefined ? [] : [`\`--${flag}\``, `\`${environmentName(flag)}\``];
  if (variable !== undefined) names.push(`\`${variable}\``);
  return names.length === 0 ? '–' : names.join(' ');
}

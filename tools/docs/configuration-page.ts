import { COLLECTORS } from '../../src/collectors/index.ts';
import { type ConfigKey, listConfigKeys } from '../../src/config/describe.ts';

const INTRODUCTION = `# Configuration

Generated from the schema of the configuration by \`npm run docs\`.

Every setting has a key in the file of \`--config.file\`; some also have a flag and an environment variable. A flag overrides
its variable, the variable overrides the file, the file overrides the default. Unknown keys are errors. \`--config.check\` reports
every error with file, line and column. [config/exporter.example.yml](../config/exporter.example.yml) has all keys;
with [config/exporter.schema.json](../config/exporter.schema.json) editors check and complete the file.

Durations are written as \`500ms\`, \`30s\` or \`1m30s\`, sizes as \`16KiB\` or \`2GiB\`. Paths are relative to the file. The
variable of a repeatable flag is a list separated by commas. A switch is turned on by \`--flag\` or \`--flag=true\` and off by
\`--no-flag\` or \`--flag=false\`. Unknown \`CRDB_EXPORTER_…\` variables are ignored, with a warning if one resembles a known
one. No flag takes a secret; the variables that do are listed below. The
flag \`--config.file\` (\`CRDB_EXPORTER_CONFIG_FILE\`) has no key. Without a file, the flags \`--cluster.*\` and \`--cloud.*\`
configure one cluster, named \`default\` unless \`--cluster.name\` is set.

The configuration and all files that it names are regular files of at most 1 MiB. The exporter warns if every user of the machine
can read a secret file or a configuration with a password or token (fix: \`chmod o-r\`), or can change any of these files
(\`chmod o-w\`). Use any owner and group with which the exporter can read the file, for example root:crdb-exporter with mode 0640.

SIGHUP reloads everything, as does a POST to \`/-/reload\` with \`--web.enable-lifecycle\`, and a change of the file with
\`--config.auto-reload\`. If the configuration file has errors, nothing changes. If the web config file has errors, its last valid
content is kept, even if the rest of the configuration is reloaded. A failed reload is a finding on the status page until one
succeeds. Settings in \`web\` need a restart; the log and the response of \`/-/reload\` name those that changed.
`;

/** The text of docs/configuration.md. */
export function writeConfigurationPage(): string {
  const sections = Map.groupBy(listConfigKeys(COLLECTORS), sectionOf);
  return [
    INTRODUCTION,
    ...Array.from(sections, ([section, options]) => writeSection(section, options)),
  ].join('\n');
}

/** The section of the key; top-level keys have none. */
function sectionOf({ path }: ConfigKey): string {
  return path.includes('.') ? path.slice(0, path.lastIndexOf('.')) : 'root';
}

function writeSection(section: string, options: readonly ConfigKey[]): string {
  const title = section === 'root' ? 'Top level' : `\`${section}\``;
  const rows = options.map((option) => writeRow(option, section));
  const head = '| Key | Default | Flag and variable | Meaning |\n| --- | --- | --- | --- |';
  return `## ${title}\n\n${[head, ...rows].join('\n')}\n`;
}

function writeRow(option: ConfigKey, section: string): string {
  const key = section === 'root' ? option.path : option.path.slice(section.length + 1);
  const help = option.help + writeChoices(option);
  const cells = [`\`${key}\``, writeDefault(option), writeGivenBy(option), help];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

/** The words that are allowed, where the type is a choice. */
function writeChoices({ valueType = '' }: ConfigKey): string {
  const words = valueType.split('|');
  return words.length < 2 ? '' : ` One of ${words.map((word) => `\`${word}\``).join(', ')}.`;
}

function writeDefault(option: ConfigKey): string {
  if (option.default === undefined) return '–';
  const written =
    typeof option.default === 'string' ? option.default : JSON.stringify(option.default);
  return `\`${written}\``;
}

function writeGivenBy({ flag, variable }: ConfigKey): string {
  const names = [flag && `--${flag}`, variable].filter((name) => name !== undefined);
  return names.map((name) => `\`${name}\``).join(' ') || '–';
}

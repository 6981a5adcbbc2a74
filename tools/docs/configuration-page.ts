import { COLLECTORS } from '#collectors';
import { type ConfigKey, listConfigKeys } from '#config';

const INTRODUCTION = `# Configuration

Generated from the schema of the configuration by \`npm run docs\`.

Every setting has a key in the file of \`--config.file\`. [config/exporter.example.yml](../config/exporter.example.yml) shows
them. \`crdb-exporter check --config.file=exporter.yml\` reports every error with line and column, at most 100 at once; secrets
and TLS files are read when each key is valid. Editors that know [config/exporter.schema.json](../config/exporter.schema.json)
check and complete the file, by the first line of the example or by a setting of the editor.

- **Flags and variables.** Some keys have a flag. The flag \`--log.level\` has the variable \`CRDB_EXPORTER_LOG_LEVEL\`, and so on.
  A flag overrides its variable, the variable overrides the file, the file overrides the default. \`--flag\` turns a switch
  on and \`--no-flag\` off. A flag that may be repeated is a list separated by commas in its variable.
- **One cluster without a file.** The flags \`--cluster.*\` and \`--cloud.*\`, and their variables, describe one cluster. Beside a
  file these are errors, but for variables with secrets: the file may name them, as in \`password_env\`.
- **Values.** Durations are \`500ms\`, \`30s\` or \`1m30s\`, at most \`10d\`, sizes \`16KiB\` or \`2GiB\`. Paths are relative to the file. Unknown keys are
  errors. YAML anchors, aliases and merge keys (\`<<: *name\`) work. Unknown \`CRDB_EXPORTER_…\` variables cause a warning if they resemble a known one.
- **Secrets.** No flag takes a secret. Name a file or a variable instead. The exporter warns when every user of the machine can read a
  secret. Files are at most 1 MiB. The configuration has at most 100,000 values, where an alias counts as all that it stands for.
- **Reload.** SIGHUP reloads all files; so does a POST to \`/-/reload\` with \`--web.enable-lifecycle\`, and a change of the file with
  \`--config.auto-reload\`. If the file has errors, nothing changes, and the status page shows the error. Settings in \`web\` need a
  restart; the log and the response of \`/-/reload\` name those that changed.
`;

const COMMON_KEYS = `## \`collectors\`

For all clusters; \`collectors\` of a cluster has the same keys. Each collector has these, with these defaults:

- \`enabled\`: poll it. \`--no-collector.NAME\` disables it.
- \`interval\`: time between the starts of two polls. \`timeout\`: maximum duration of one poll.
- \`max_age\`: age at which its data is no longer exported. Default: min(3 × interval, interval + 10m).
- \`max_duty\`: largest share of the time that responses may take. Beyond it the interval gets longer; timeouts do not count.
- \`max_series\`: maximum series for each cluster. Beyond it the least important ones are dropped and counted.
`;

const NOTES: Readonly<Record<string, string | undefined>> = {
  thresholds:
    'Limits of the alerts and of the findings on the status page. `crdb-exporter rules --config.file` and\n`--set` write the rules with them.',
};

/** Keys that every collector has. */
const COMMON = ['enabled', 'interval', 'timeout', 'max_age', 'max_duty', 'max_series'];

/** The text of docs/configuration.md. */
export function writeConfigurationPage(): string {
  const keys = listConfigKeys(COLLECTORS).filter((option) => !isCommon(option));
  const sections = Map.groupBy(keys, sectionOf);
  const pages = Array.from(sections, ([section, options]) => writeSection(section, options));
  const firstOfCollectors = [...sections.keys()].findIndex((name) =>
    name.startsWith('collectors.'),
  );
  return [INTRODUCTION, ...pages.toSpliced(firstOfCollectors, 0, writeCommonKeys())].join('\n');
}

function isCommon({ path }: ConfigKey): boolean {
  return path.startsWith('collectors.') && COMMON.some((name) => path.endsWith(`.${name}`));
}

/** The keys of every collector, with the defaults of each. */
function writeCommonKeys(): string {
  const keys = listConfigKeys(COLLECTORS);
  const rows = COLLECTORS.map(({ name }) => {
    const defaults = COMMON.map((key) => {
      const option = keys.find(({ path }) => path === `collectors.${name}.${key}`);
      return option === undefined ? '–' : writeDefault(option);
    });
    return `| \`${name}\` | ${defaults.join(' | ')} |`;
  });
  const head = `| Collector | ${COMMON.map((key) => `\`${key}\``).join(' | ')} |`;
  return `${COMMON_KEYS}\n${[head, `| --- |${' --- |'.repeat(COMMON.length)}`, ...rows].join('\n')}\n`;
}

/** The section of the key; top-level keys have none. */
function sectionOf({ path }: ConfigKey): string {
  return path.includes('.') ? path.slice(0, path.lastIndexOf('.')) : 'root';
}

/** A table; a list where no key has a flag. */
function writeSection(section: string, options: readonly ConfigKey[]): string {
  const title = `## ${section === 'root' ? 'Top level' : `\`${section}\``}`;
  const note = NOTES[section] === undefined ? [] : [NOTES[section]];
  const head = '| Key | Default | Flag | Meaning |\n| --- | --- | --- | --- |';
  const lines = options.some(({ flag }) => flag !== undefined)
    ? [head, ...options.map((option) => writeRow(option, section))]
    : options.map((option) => writeItem(option, section));
  return `${[title, ...note, lines.join('\n')].join('\n\n')}\n`;
}

/** Within its section. */
function nameOf({ path }: ConfigKey, section: string): string {
  return section === 'root' ? path : path.slice(section.length + 1);
}

function writeRow(option: ConfigKey, section: string): string {
  const key = `\`${nameOf(option, section)}\``;
  const cells = [key, writeDefault(option), writeGivenBy(option), writeMeaning(option)];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

function writeItem(option: ConfigKey, section: string): string {
  const standard = option.default === undefined ? '' : ` (${writeDefault(option)})`;
  return `- \`${nameOf(option, section)}\`${standard}: ${writeMeaning(option)}`;
}

function writeMeaning(option: ConfigKey): string {
  return option.help + writeChoices(option);
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

/** The flag; the variable of a secret, which has no flag. */
function writeGivenBy({ flag, variable }: ConfigKey): string {
  const name = flag === undefined ? variable : `--${flag}`;
  return name === undefined ? '–' : `\`${name}\``;
}

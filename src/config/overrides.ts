import { resolve } from 'node:path';
import type { CollectorOptions } from './cluster-schema.ts';
import { type ConfigKey, listConfigKeys, variableOf } from './describe.ts';
import { isMap, type SourceDocument } from './document.ts';
import { type ConfigIssues, findNearest } from './issues.ts';
import type { Environment } from './secret.ts';

/** Flags by their names without dashes; undefined when not set. */
export type Flags = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

/** A key that has a flag, and so a variable. */
export type FlagKey = ConfigKey & Required<Pick<ConfigKey, 'flag' | 'variable'>>;

/** The one flag that is no key of the file. */
export const CONFIG_FILE: FlagKey = {
  path: '',
  flag: 'config.file',
  variable: variableOf('config.file'),
  valueType: 'path',
  help: 'Configuration file; without one, flags describe a single cluster.',
  default: undefined,
  isList: false,
};

/** All flags of the configuration, in the order of the file. */
export function listFlags(collectors: readonly CollectorOptions[]): FlagKey[] {
  const keys = listConfigKeys(collectors);
  return [CONFIG_FILE, ...keys.filter((key): key is FlagKey => key.flag !== undefined)];
}

/** What flags and variables set: a flag before its variable, a variable before the file. */
export function listOverrides(
  flags: Flags,
  env: Environment,
  collectors: readonly CollectorOptions[],
) {
  return listConfigKeys(collectors).flatMap((key) => {
    const { flag = '', variable = '', valueType, isList } = key;
    const flagValue = flags[flag];
    // An empty variable counts as unset: templates leave one when they have no value.
    const text = env[variable] ?? '';
    if (flagValue === undefined && text === '') return [];
    const texts = flagValue === undefined ? splitVariable(text, isList) : [flagValue].flat();
    const values = texts.map((one) => parseText(valueType, String(one)));
    const source = flagValue === undefined ? variable : `--${flag}`;
    return { key, value: isList ? values : values[0], source };
  });
}

const PREFIX = variableOf('');
/** What Kubernetes sets in every container for a service called crdb-exporter. */
const OF_KUBERNETES = /^(?:SERVICE_(?:HOST|PORT)|PORT(?:_\d|$))/;

/** Warns of variables that are not known, but resemble a known one. Those that the text of the file names are in use. */
export function warnOfMistypedVariables(
  env: Environment,
  collectors: readonly CollectorOptions[],
  text: string,
  issues: ConfigIssues,
): void {
  const keys = listConfigKeys(collectors).flatMap(({ variable }) => variable ?? []);
  const known = [CONFIG_FILE.variable, ...keys].map((name) => name.slice(PREFIX.length));
  for (const name of Object.keys(env)) {
    const end = name.startsWith(PREFIX) ? name.slice(PREFIX.length) : '';
    const isUsed = known.includes(end) || text.includes(name);
    if (end === '' || OF_KUBERNETES.test(end) || isUsed) continue;
    const nearest = findNearest(end, known);
    if (nearest === undefined) continue;
    const message = `unknown variable, not used: did you mean ${PREFIX}${nearest}?`;
    issues.warn({ source: name, path: '' }, message);
  }
}

function splitVariable(text: string, isList: boolean): readonly string[] {
  if (!isList) return [text];
  const parts = text.split(',').map((part) => part.trim());
  return parts.filter((part) => part !== '');
}

/** The value of the text of a flag or variable; the text itself if it has another form. */
function parseText(valueType: string | undefined, text: string): unknown {
  if (valueType === 'boolean' && /^(?:true|false)$/.test(text)) return text === 'true';
  const isNumeric = valueType === 'integer' || valueType === 'number';
  if (isNumeric && text.trim() !== '' && Number.isFinite(Number(text))) return Number(text);
  if (valueType === 'path' && text !== '') return resolve(text);
  const [, socket] = (valueType === 'address' && /^unix:(.+)$/s.exec(text)) || [];
  return socket === undefined ? text : `unix:${resolve(socket)}`;
}

/** Sets a value over that of the file. A collector's switch also overrides every cluster's own. */
export function applyOverride(
  document: SourceDocument,
  { key, value, source }: ReturnType<typeof listOverrides>[number],
): void {
  const path = key.path
    .split('.')
    .flatMap((step) => (step.endsWith('[]') ? [step.slice(0, -2), 0] : [step]));
  document.set(path, value, source);
  const { clusters } = document.input;
  if (path[0] !== 'collectors' || !Array.isArray(clusters)) return;
  for (const [index, cluster] of clusters.entries()) {
    if (isMap(cluster)) document.set(['clusters', index, ...path], value, source, path);
  }
}

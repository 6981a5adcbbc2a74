import { resolve } from 'node:path';
import type { CollectorOptions } from './cluster-schema.ts';
import { type ConfigKey, listConfigKeys, variableOf } from './describe.ts';
import { isMap, type SourceDocument } from './document.ts';
import { findNearest } from './issues.ts';
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
  return [CONFIG_FILE, ...listConfigKeys(collectors).filter(hasFlag)];
}

function hasFlag(key: ConfigKey): key is FlagKey {
  return key.flag !== undefined;
}

/** A value that a flag or variable sets. */
export type Override = ReturnType<typeof listOverrides>[number];

/** What flags and variables set: a flag before its variable, a variable before the file. */
export function listOverrides(
  flags: Flags,
  env: Environment,
  collectors: readonly CollectorOptions[],
) {
  return listConfigKeys(collectors).flatMap((key) => {
    const { flag = '', variable = '', valueType, isList } = key;
    const given = flags[flag];
    // An empty variable counts as unset: templates leave one when they have no value.
    const text = env[variable] ?? '';
    if (given === undefined && text === '') return [];
    const texts = given === undefined ? splitVariable(text, isList) : [given].flat();
    const values = texts.map((one) => parseText(valueType, String(one)));
    const source = given === undefined ? variable : `--${flag}`;
    return { key, value: isList ? values : values[0], source };
  });
}

const PREFIX = variableOf('');
/** What Kubernetes sets in every container for a service called crdb-exporter. */
const OF_KUBERNETES = /^(?:SERVICE_(?:HOST|PORT)|PORT(?:_\d|$))/;

/** Variables that are not known, but resemble a known one: name and suggestion. */
export function listMistypedVariables(
  env: Environment,
  collectors: readonly CollectorOptions[],
): (readonly [name: string, nearest: string])[] {
  const keys = listConfigKeys(collectors).flatMap(({ variable }) => variable ?? []);
  const known = [CONFIG_FILE.variable, ...keys].map((name) => name.slice(PREFIX.length));
  return Object.keys(env).flatMap((name) => {
    const end = name.startsWith(PREFIX) ? name.slice(PREFIX.length) : '';
    if (end === '' || OF_KUBERNETES.test(end) || known.includes(end)) return [];
    const nearest = findNearest(end, known);
    return nearest === undefined ? [] : [[name, PREFIX + nearest]];
  });
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
export function applyOverride(document: SourceDocument, { key, value, source }: Override): void {
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

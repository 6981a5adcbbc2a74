import type { CollectorOptions } from './collector-options.ts';
import { environmentName, isRepeatable } from './flags.ts';
import { listOptions } from './options.ts';
import { joinPath } from './raw.ts';
import type { Place, Raw, RawMap, RawScalar } from './raw.ts';
import type { Option } from './section.ts';

/** Flags by their names without dashes; those not given are absent or undefined. */
export type Flags = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;
export type Environment = Readonly<Record<string, string | undefined>>;

/** A setting given outside the file. */
export interface Given {
  readonly option: Option<unknown>;
  readonly raw: Raw;
}

/** What flags and variables set: a flag before its variable, a variable before nothing. */
export function listGivens(
  flags: Flags,
  env: Environment,
  folder: string,
  collectors: readonly CollectorOptions[],
): Given[] {
  return listOptions(collectors).flatMap((option) => {
    const raw = givenByFlag(option, flags, folder) ?? givenByVariable(option, env, folder);
    return raw === undefined ? [] : [{ option, raw }];
  });
}

function givenByFlag(option: Option<unknown>, flags: Flags, folder: string): Raw | undefined {
  const value = option.flag === undefined ? undefined : flags[option.flag];
  if (value === undefined) return undefined;
  const isOne = typeof value === 'boolean' || typeof value === 'string';
  return givenRaw(option, `--${option.flag}`, isOne ? [String(value)] : value, folder);
}

/** An empty variable counts as unset: that is what templates leave when they have nothing to say. */
function givenByVariable(
  option: Option<unknown>,
  env: Environment,
  folder: string,
): Raw | undefined {
  const { flag, variable = flag === undefined ? undefined : environmentName(flag) } = option;
  const value = variable === undefined ? undefined : env[variable];
  if (variable === undefined || value === undefined || value === '') return undefined;
  const parts = value.split(',').map((part) => part.trim());
  const several = parts.filter((part) => part !== '');
  return givenRaw(option, variable, isRepeatable(option) ? several : [value], folder);
}

function givenRaw(
  option: Option<unknown>,
  source: string,
  texts: readonly string[],
  folder: string,
): Raw {
  const place = { source, path: option.path.replace('[]', '[0]'), folder };
  const items = texts.map((value): RawScalar => ({
    form: 'scalar',
    place,
    value,
    isUntyped: true,
  }));
  const [only] = items;
  return isRepeatable(option) || only === undefined ? { form: 'list', place, items } : only;
}

/** The file's settings with a given one over them. A collector's switch also overrides every cluster's own. */
export function applyGiven(root: RawMap, { option, raw }: Given): RawMap {
  const path = option.path.split('.');
  const whole = setIn(root, path, raw);
  const clusters = root.entries.get('clusters')?.value;
  const isOfCollector = path[0] === 'collectors';
  if (!isOfCollector || clusters?.form !== 'list') return whole;
  const items = clusters.items.map((cluster) =>
    cluster.form === 'map' ? setIn(cluster, path, raw) : cluster,
  );
  return setIn(whole, ['clusters'], { ...clusters, items });
}

function setIn(map: RawMap, [head = '', ...rest]: readonly string[], raw: Raw): RawMap {
  const name = head.replace('[]', '');
  const old = map.entries.get(name);
  const place = { ...raw.place, path: joinPath(map.place.path, name) };
  const value = head.endsWith('[]')
    ? setInFirst(old?.value, place, rest, raw)
    : setBelow(old?.value, place, rest, raw);
  return { ...map, entries: new Map([...map.entries, [name, { key: old?.key ?? place, value }]]) };
}

function setBelow(old: Raw | undefined, place: Place, rest: readonly string[], raw: Raw): Raw {
  if (rest.length === 0) return raw;
  if (old?.form === 'map') return setIn(old, rest, raw);
  // Something that is no map stays, and is reported when it is read.
  const isEmpty = old === undefined || (old.form === 'scalar' && old.value === null);
  return isEmpty ? setIn({ form: 'map', place, entries: new Map() }, rest, raw) : old;
}

/** Only without a file: flags of a cluster beside a file are not accepted. */
function setInFirst(old: Raw | undefined, place: Place, rest: readonly string[], raw: Raw): Raw {
  const first = old?.form === 'list' ? old.items[0] : undefined;
  const firstPlace = { ...place, path: `${place.path}[0]` };
  return { form: 'list', place, items: [setBelow(first, firstPlace, rest, raw)] };
}

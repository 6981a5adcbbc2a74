import * as v from 'valibot';
import { clusterSection, type CollectorOptions, collectorSections } from './cluster-schema.ts';
import { type Config, configSchema } from './schema.ts';
import { Secret } from './secret.ts';
import { type AnySchema, type KeyMeta, unwrap } from './values.ts';

/** A key as the command line and the documentation see it. */
export interface ConfigKey extends Omit<KeyMeta, 'examples'> {
  /** Dotted key in the file; `clusters[]` stands for any member of the list. */
  readonly path: string;
  /** One word for `--help`: `<duration>`. */
  readonly valueType?: string;
  /** The default as it is written in the file; undefined when there is none. */
  readonly default: unknown;
  /** Repeated as a flag, separated by commas as a variable. */
  readonly isList: boolean;
}

/** Every key of the configuration file in its order, but for the collectors' that each cluster may repeat. */
export function listConfigKeys(collectors: readonly CollectorOptions[]): readonly ConfigKey[] {
  return listKeys(configSchema(collectors), '');
}

function listKeys(schema: AnySchema, path: string): ConfigKey[] {
  const inner = unwrap(schema);
  const { entries } = inner.item ? unwrap(inner.item) : inner;
  if (path === 'clusters[].collectors') return [];
  // A list of maps can be a key too.
  const isKey = v.getDescription(schema) !== undefined;
  if (entries === undefined || isKey) return [describeKey(schema, path)];
  const prefix = path === '' ? '' : `${path}${inner.item ? '[]' : ''}.`;
  return Object.entries(entries).flatMap(([name, entry]) => listKeys(entry, prefix + name));
}

function describeKey(schema: AnySchema, path: string): ConfigKey {
  const inner = unwrap(schema);
  const meta: Partial<KeyMeta> = v.getMetadata(schema);
  return {
    ...(inner.item && v.getMetadata(unwrap(inner.item))),
    ...v.getMetadata(inner),
    ...meta,
    ...(meta.flag !== undefined && { variable: variableOf(meta.flag) }),
    path,
    help: v.getDescription(schema) ?? '',
    default: v.getDefault(schema),
    isList: inner.item !== undefined,
  };
}

/** `web.listen-address` is `CRDB_EXPORTER_WEB_LISTEN_ADDRESS`. */
export function variableOf(flag: string): string {
  return `CRDB_EXPORTER_${flag.replaceAll(/[.-]/g, '_').toUpperCase()}`;
}

/**
 * The running configuration as a file would give it, every value written out and every secret text
 * as `<secret>`. The proxies of the environment, which have no key in the file, are added.
 */
export function describeConfig(
  { clusters, ...others }: Config,
  collectors: readonly CollectorOptions[],
): object {
  const schema = clusterSection('', collectorSections(collectors));
  const described = clusters.map((cluster) => {
    const { http, https, noProxy } = cluster.proxy;
    const proxy = { http: http?.toJSON(), https: https?.toJSON(), no_proxy: noProxy };
    const isUsed = http !== undefined || https !== undefined;
    return { ...describeMap(schema, cluster), ...(isUsed && { proxy_of_environment: proxy }) };
  });
  return { ...describeMap(configSchema(collectors), others), clusters: described };
}

/** The keys of a section in its order; without those that have no value. */
function describeMap({ entries = {} }: AnySchema, values: object): object {
  const byKey = new Map<string, unknown>(Object.entries(values));
  const described = Object.entries(entries).flatMap(([key, schema]) => {
    const value = byKey.get(key);
    if (value === undefined) return [];
    return [value instanceof Secret ? value.describe(key) : [key, describe(unwrap(schema), value)]];
  });
  return Object.fromEntries(described);
}

function describe(schema: AnySchema, value: unknown): unknown {
  const { entries, item } = schema;
  if (item !== undefined && Array.isArray(value)) {
    return value.map((member: unknown) => describe(unwrap(item), member));
  }
  if (entries !== undefined) return describeMap(schema, Object(value));
  const { format } = v.getMetadata(schema);
  return typeof format === 'function' ? format(value) : value;
}

import * as v from 'valibot';
import { clusterSection } from './cluster-schema.ts';
import { type CollectorOptions, collectorSections } from './collector-schema.ts';
import { type AnySchema, unwrap } from './keys.ts';
import type { ProxyConfig } from './proxy.ts';
import { type Config, configSchema } from './schema.ts';

type Described = Readonly<Record<string, unknown>>;

/**
 * The running configuration as a file would give it, every value written out and every secret as
 * `<secret>`. The proxies of the environment have no key in the file and stand beside.
 */
export function describeConfig(config: Config, collectors: readonly CollectorOptions[]): Described {
  const { clusters, ...others } = config;
  const clusterSchema = clusterSection('', collectorSections(collectors));
  return {
    ...describeMap(configSchema(collectors), others),
    clusters: clusters.map((cluster) => ({
      ...describeMap(clusterSchema, cluster),
      ...describeProxy(cluster.proxy),
    })),
  };
}

/** The keys of a section in its order; without those that have no value. */
function describeMap({ entries = {} }: AnySchema, values: object): Described {
  const byKey = new Map<string, unknown>(Object.entries(values));
  const described = Object.entries(entries).flatMap(([key, schema]) => {
    const value = byKey.get(key);
    return value === undefined ? [] : [[key, describe(unwrap(schema), value)]];
  });
  return Object.fromEntries(described);
}

function describe(schema: AnySchema, value: unknown): unknown {
  const { entries, item } = schema;
  if (item !== undefined && Array.isArray(value)) {
    return value.map((one: unknown) => describe(unwrap(item), one));
  }
  if (entries !== undefined) return describeMap(schema, Object(value));
  const { format } = v.getMetadata(schema);
  return typeof format === 'function' ? format(value) : value;
}

function describeProxy({ http, https, noProxy }: ProxyConfig): Described {
  if (http === undefined && https === undefined) return {};
  return {
    proxy_of_environment: { http: http?.toJSON(), https: https?.toJSON(), no_proxy: noProxy },
  };
}

import { listCollectorRows } from './collector-options.ts';
import type { CollectorOptions } from './collector-options.ts';
import type { JsonSchema } from './kind.ts';
import { OPTIONS } from './options.ts';
import type { Option } from './section.ts';

/** The JSON schema of the configuration file, for editors; the reader itself knows more. */
export function configSchema(collectors: readonly CollectorOptions[]): JsonSchema {
  const forAll = collectors.flatMap(listCollectorRows);
  // What a cluster leaves out is not the default but what is set for all clusters.
  const ofCluster = forAll.map(({ path, kind, help }) => ({
    path: `clusters[].${path}`,
    kind,
    help,
  }));
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Configuration of crdb-exporter',
    ...mapSchema('', [...OPTIONS, ...ofCluster, ...forAll]),
  };
}

function mapSchema(prefix: string, options: readonly Option<unknown>[]): JsonSchema {
  const heads = new Set(options.map(({ path }) => path.slice(prefix.length).split('.')[0] ?? ''));
  const properties = [...heads].map((head) => {
    const isBelow = ({ path }: Option<unknown>) => `${path}.`.startsWith(`${prefix}${head}.`);
    return [head.replace('[]', ''), memberSchema(`${prefix}${head}`, options.filter(isBelow))];
  });
  return {
    type: 'object',
    additionalProperties: false,
    properties: Object.fromEntries(properties),
  };
}

function memberSchema(path: string, options: readonly Option<unknown>[]): JsonSchema {
  const [only] = options;
  if (only?.path === path) return valueSchema(only);
  const map = mapSchema(`${path}.`, options);
  return path.endsWith('[]') ? { type: 'array', minItems: 1, items: map } : map;
}

function valueSchema({ kind, help, default: value, example }: Option<unknown>): JsonSchema {
  return {
    description: help,
    ...kind.schema,
    ...(value !== undefined && { default: kind.write(value) }),
    ...(example !== undefined && { examples: [example] }),
  };
}

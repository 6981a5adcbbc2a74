import type * as v from 'valibot';
import { clusterSection } from './cluster-schema.ts';
import {
  clusterCollectors,
  type CollectorConfig,
  type CollectorOptions,
  commonCollectors,
} from './collector-schema.ts';
import type { Path, SourceDocument } from './document.ts';
import { configSchema, type FileConfig } from './keys-and-flags.ts';
import { accept } from './validate.ts';

/** The settings of collectors by name. */
type Settings<T> = Readonly<Record<string, T | undefined>>;

/** The values that are compared with others, each undefined where the schema refused it. A valid configuration has them, too. */
export interface AcceptedParts {
  readonly web: { readonly config_file?: string | undefined };
  readonly shard?: FileConfig['shard'] | undefined;
  readonly thresholds?: FileConfig['thresholds'] | undefined;
  readonly clusters: readonly AcceptedCluster[];
  readonly collectors: Settings<CollectorConfig>;
}

export interface AcceptedCluster {
  readonly name?: string | undefined;
  readonly collectors: Settings<Partial<CollectorConfig>>;
}

/** The parts of a document that the schema accepts, although it refused the whole. */
export function acceptParts(
  collectors: readonly CollectorOptions[],
  document: SourceDocument,
): AcceptedParts {
  const { entries } = configSchema(collectors);
  const { config_file } = entries.web.wrapped.entries;
  const { name } = clusterSection(collectors).entries;
  const common = collectors.map((each) => [each.name, commonCollectors([each])] as const);
  const ofCluster = collectors.map((each) => [each.name, clusterCollectors([each])] as const);
  const acceptAt = <S extends v.GenericSchema>(schema: S, path: Path) =>
    accept(schema, document.valueAt(path), document);
  const clusters = document.valueAt(['clusters']);
  return {
    web: { config_file: acceptAt(config_file, ['web', 'config_file']) },
    shard: acceptAt(entries.shard, ['shard']),
    thresholds: acceptAt(entries.thresholds, ['thresholds']),
    clusters: (Array.isArray(clusters) ? clusters : []).map((_, index) => ({
      name: acceptAt(name, ['clusters', index, 'name']),
      collectors: acceptEach(ofCluster, document, ['clusters', index, 'collectors']),
    })),
    collectors: acceptEach(common, document, ['collectors']),
  };
}

/** Each collector by itself, as the only one of its schema; none where the map of them was refused. */
function acceptEach<T>(
  schemas: readonly (readonly [string, v.GenericSchema<unknown, Settings<T>>])[],
  document: SourceDocument,
  path: Path,
): Settings<T> {
  const isWritten = (document.valueAt(path) ?? null) !== null;
  const written = isWritten ? document.mapAt(path) : {};
  if (written === undefined) return {};
  const accepted = schemas.map(([name, schema]) =>
    accept(schema, { [name]: written[name] }, document),
  );
  return Object.assign({}, ...accepted);
}

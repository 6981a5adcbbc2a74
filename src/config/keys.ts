import * as v from 'valibot';

/** What a key of the configuration says of itself besides its type and default. */
export interface KeyMeta {
  /** Name of the flag without its dashes. */
  readonly flag?: string;
  /** A variable for what may have no flag: secrets. */
  readonly variable?: string;
  readonly help: string;
  readonly example?: unknown;
}

/** One key of a section, with everything there is to know of it. */
export function key<S extends v.GenericSchema>(schema: S, { help, example, ...meta }: KeyMeta) {
  return v.pipe(
    schema,
    v.description(help),
    v.metadata({ ...meta, ...(example !== undefined && { examples: [example] }) }),
  );
}

/** A key as the command line and the documentation see it. */
export interface ConfigKey extends Omit<KeyMeta, 'example'> {
  /** Dotted key in the file; `clusters[]` stands for any member of the list. */
  readonly path: string;
  /** One word for `--help`: `<duration>`. */
  readonly valueType?: string;
  /** As it is written in the file; undefined when there is none. */
  readonly default: unknown;
  /** Repeated as a flag, separated by commas as a variable. */
  readonly isList: boolean;
}

/** A schema that may have the parts of any valibot schema. */
export interface AnySchema extends v.GenericSchema {
  readonly entries?: Readonly<Record<string, AnySchema>>;
  readonly wrapped?: AnySchema;
  readonly item?: AnySchema;
}

/** Every key of a schema in its order, but for the collectors' that each cluster may repeat. */
export function listKeys(schema: AnySchema, path = ''): ConfigKey[] {
  const inner = unwrap(schema);
  const { entries } = inner.item ? unwrap(inner.item) : inner;
  if (path === 'clusters[].collectors') return [];
  if (entries === undefined || isKey(schema)) return [describeKey(schema, path)];
  const prefix = path === '' ? '' : `${path}${inner.item ? '[]' : ''}.`;
  return Object.entries(entries).flatMap(([name, entry]) => listKeys(entry, prefix + name));
}

/** A list of maps can be a key too. */
function isKey(schema: AnySchema): boolean {
  return v.getDescription(schema) !== undefined;
}

function describeKey(schema: AnySchema, path: string): ConfigKey {
  const inner = unwrap(schema);
  return {
    ...(inner.item && v.getMetadata(unwrap(inner.item))),
    ...v.getMetadata(inner),
    ...v.getMetadata(schema),
    path,
    help: v.getDescription(schema) ?? '',
    default: v.getDefault(schema),
    isList: inner.item !== undefined,
  };
}

/** Without what makes it optional. */
export function unwrap(schema: AnySchema): AnySchema {
  return schema.wrapped === undefined ? schema : unwrap(schema.wrapped);
}

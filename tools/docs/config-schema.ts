import { type JsonSchema, toJsonSchema } from '@valibot/to-json-schema';
import { COLLECTORS } from '#collectors';
import { configSchema } from '#config';

/** The JSON schema of the configuration file, for editors; the loader checks more. */
export function buildConfigSchema(): JsonSchema {
  const { $schema, ...schema } = toJsonSchema(configSchema(COLLECTORS), {
    typeMode: 'input',
    errorMode: 'ignore',
    // The loader accepts an empty section; editors should report it.
    overrideSchema: ({ valibotSchema, jsonSchema: { anyOf } }) =>
      valibotSchema.type === 'nullish' && typeof anyOf?.[0] === 'object' ? anyOf[0] : null,
    overrideAction: ({ valibotAction, jsonSchema }) =>
      valibotAction.type === 'metadata' ? withoutOwnMetadata(jsonSchema) : null,
  });
  const title = 'Configuration of crdb-exporter';
  return withoutEmpty({ $schema: String($schema), title, ...schema });
}

function withoutEmpty(schema: JsonSchema): JsonSchema {
  return JSON.parse(JSON.stringify(schema), (key, value: unknown) =>
    key === 'required' && Array.isArray(value) && value.length === 0 ? undefined : value,
  );
}

const OWN_METADATA = ['flag', 'variable', 'valueType', 'format'];

function withoutOwnMetadata(schema: JsonSchema): JsonSchema {
  const entries = Object.entries(schema).filter(([name]) => !OWN_METADATA.includes(name));
  return Object.fromEntries(entries);
}

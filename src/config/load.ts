import path from 'node:path';
import { checkConfig } from './checks.ts';
import { completeConfig, type FilesToRead } from './complete.ts';
import { type ConfigIssue, ConfigIssues } from './issues.ts';
import { type Config, configSchema } from './schema.ts';
import { findFile, readSources, type WrittenSources } from './sources.ts';
import { validate } from './validate.ts';

/** Where the configuration comes from, and which of the files that it names are read. */
export interface ConfigSources extends WrittenSources, FilesToRead {}

/** A configuration that can be used. */
export interface LoadedConfig {
  readonly config: Config;
  /** What works but should not stay so. */
  readonly warnings: readonly ConfigIssue[];
}

/**
 * Reads flags, variables, file and defaults, in this order of precedence, in one direction: what is written becomes one
 * document, which is validated, checked across its keys, and completed with the files that it names. Rejects with a
 * ConfigError that holds every problem, or a UsageError for flags that do not go together.
 */
export async function loadConfig(sources: ConfigSources): Promise<LoadedConfig> {
  const issues = new ConfigIssues();
  const document = await readSources(sources, issues);
  // The values of a document with syntax errors are not worth reporting.
  issues.throwIfAny();
  const file = findFile(sources);
  const folder = file === undefined ? undefined : path.dirname(path.resolve(file));
  const root = validate(configSchema(sources.collectors, folder), document);
  checkConfig(root);
  const config = await completeConfig(root, sources);
  issues.throwIfAny();
  return { config: freezeDeep(config), warnings: issues.warnings };
}

function freezeDeep<T>(value: T): Readonly<T> {
  if (typeof value === 'object' && value !== null) Object.values(value).forEach(freezeDeep);
  return Object.freeze(value);
}

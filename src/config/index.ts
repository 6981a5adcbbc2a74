// Every key once: its type, default, flag and help; loading, secrets, TLS files.
export { type CollectorConfig, collectorOptions } from './collector-schema.ts';
export { readDocument } from './document.ts';
export {
  type Environment,
  explainFileError,
  FILE_CHECK_MS,
  type FileWatch,
  type LoadFailure,
  readPemFile,
  readTextFile,
  watchFiles,
} from './files.ts';
export {
  ConfigError,
  type ConfigIssue,
  ConfigIssues,
  formatIssues,
  isMap,
  UsageError,
} from './issues.ts';
export {
  type CloudApiConfig,
  type ClusterApiConfig,
  type ClusterConfig,
  type Config,
  configSchema,
  describeConfig,
  listSecrets,
  type ProxyConfig,
} from './keys-and-flags.ts';
export { type ConfigSources, loadConfig, type LoadedConfig } from './load.ts';
export type { ServerTls } from './server-tls.ts';
export {
  CONFIG_FILE,
  type ConfigKey,
  findFile,
  type FlagKey,
  listConfigKeys,
  listFlags,
  repeatSources,
  type WrittenSources,
} from './sources.ts';
export { type ClientTls, readClientTls } from './tls-files.ts';
export { isLoopback, MAX_DURATION_SECONDS, parseDuration, writeDuration } from './values.ts';
export { isSlowHash, readWebConfig, type WebConfig, type WebConfigReading } from './web-config.ts';

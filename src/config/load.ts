import type { Config } from './config.ts';
import { openCollectors, readClusters } from './clusters.ts';
import { readCollectors } from './collectors.ts';
import { ConfigError, createFindings } from './findings.ts';
import type { Findings, Problem } from './findings.ts';
import { CONFIG, keysAt, LOG, ROOT, SHARD, WEB } from './options.ts';
import { openMember, openSection, placeOf, read } from './section.ts';
import type { Section } from './section.ts';
import { readSettings } from './settings.ts';
import type { ConfigSources } from './settings.ts';
import { readWebConfig } from './web-config-file.ts';

export interface LoadedConfig {
  readonly config: Config;
  /** What works but should not stay so. */
  readonly warnings: readonly Problem[];
}

const ROOT_KEYS = [...keysAt(''), 'collectors'];

/**
 * Reads flags, variables, file and defaults; the first that says something wins. Rejects with a
 * ConfigError that holds every problem, or a UsageError for flags that do not go together.
 */
export async function loadConfig(sources: ConfigSources): Promise<LoadedConfig> {
  const findings = createFindings();
  const settings = await readSettings(sources, findings);
  // What a broken document seems to say is not worth reporting.
  failOnProblems(findings);
  const config = await readConfig(openSection(settings, ROOT_KEYS, findings), sources);
  failOnProblems(findings);
  return { config: freezeDeep(config), warnings: findings.warnings };
}

function failOnProblems(findings: Findings): void {
  if (findings.problems.length > 0) throw new ConfigError(findings.problems);
}

async function readConfig(root: Section, { env, collectors }: ConfigSources): Promise<Config> {
  const log = openMember(root, 'log', keysAt('log'));
  const commonCollectors = openCollectors(root, collectors);
  // Read once for itself, so that its faults are found even where every cluster overrides them.
  readCollectors(commonCollectors, commonCollectors, collectors, { cluster: true, cloud: true });
  return {
    web: await readWeb(openMember(root, 'web', keysAt('web'))),
    log: { level: read(log, LOG.level), format: read(log, LOG.format) },
    shard: readShard(openMember(root, 'shard', keysAt('shard'))),
    autoReload: read(openMember(root, 'config', keysAt('config')), CONFIG.autoReload),
    maxSeries: read(root, ROOT.maxSeries),
    clusters: await readClusters(root, { env, collectors, commonCollectors }),
  };
}

async function readWeb(section: Section): Promise<Config['web']> {
  const configFile = read(section, WEB.configFile) || undefined;
  if (configFile) {
    const { problems, warnings } = await readWebConfig(configFile);
    for (const { place, message } of problems) section.findings.report(place, message);
    for (const { place, message } of warnings) section.findings.warn(place, message);
  }
  return {
    listenAddresses: read(section, WEB.listenAddress),
    telemetryPath: read(section, WEB.telemetryPath),
    enableLifecycle: read(section, WEB.enableLifecycle),
    configFile,
    maxRequests: read(section, WEB.maxRequests),
    maxProbes: read(section, WEB.maxProbes),
    protectProbes: read(section, WEB.protectProbes),
  };
}

function readShard(section: Section): Config['shard'] {
  const index = read(section, SHARD.index);
  const count = read(section, SHARD.count);
  if (count > 0 && index >= count) {
    const message = `the index ${index} is not below the count ${count}: shards count from 0 to ${count - 1}`;
    section.findings.report(placeOf(section, SHARD.index), message);
  }
  return { index, count };
}

function freezeDeep<T>(value: T): Readonly<T> {
  if (typeof value === 'object' && value !== null) Object.values(value).forEach(freezeDeep);
  return Object.freeze(value);
}

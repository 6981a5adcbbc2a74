import { ConfigError, type ConfigIssue, formatIssues, messageOf } from './config/issues.ts';
import type { Config } from './config/schema.ts';
import type { LoadedConfig } from './config/load.ts';
import type { Log } from './log.ts';
import * as families from './metrics/outcome-families.ts';
import { Sheet } from './metrics/sheet.ts';
import type { Reloaded } from './web/reload.ts';

export interface ReloaderOptions {
  /** Reads the configuration again, from where it came at first, but for the web config file. */
  readonly load: () => Promise<LoadedConfig>;
  /** Puts it in force as a whole; rejects with everything as it was. */
  readonly apply: (config: Config) => Promise<void>;
  /** Reads the web config file, and returns what keeps it from being in force. */
  readonly reloadWebConfig: () => Promise<readonly ConfigIssue[]>;
  /** Whether the files that are followed without a reload (web config, certificates) are in force as they are now. */
  readonly areFilesInForce: () => boolean;
  readonly wallMs: () => number;
  readonly log: Log;
}

export interface Reloader {
  /** Reads and applies the configuration; the running one stays in force when that fails. */
  reload(): Promise<Reloaded>;
  /** Whether all of the configuration is in force as it is now, and when the last good reload was. */
  outcome(): Sheet;
}

/**
 * Reloads one after the other; the start of the process counts as the first good one. The configuration and the web config file
 * do not wait for each other: one with errors does not keep the other from being in force.
 */
export function createReloader(options: ReloaderOptions): Reloader {
  const { wallMs } = options;
  let isLastGood = true;
  let lastGoodMs = wallMs();
  let queue: Promise<unknown> = Promise.resolve();

  async function reloadOnce(): Promise<Reloaded> {
    const failures = [await reloadConfig(options), await reloadWebConfig(options)];
    isLastGood = failures[0] === undefined;
    const why = failures.filter((failure) => failure !== undefined).join('\n');
    if (why !== '') return { isGood: false, why };
    lastGoodMs = wallMs();
    return { isGood: true };
  }

  return {
    reload() {
      const done = queue.then(reloadOnce);
      queue = done;
      return done;
    },
    outcome() {
      const sheet = new Sheet({});
      const isInForce = isLastGood && options.areFilesInForce();
      sheet.set(families.CONFIG_LAST_RELOAD_SUCCESSFUL, {}, isInForce ? 1 : 0);
      sheet.set(families.CONFIG_LAST_RELOAD_SUCCESS, {}, lastGoodMs / 1000);
      return sheet;
    },
  };
}

/** Returns the reason of a failure, for the one who asked. */
async function reloadConfig({ load, apply, log }: ReloaderOptions): Promise<string | undefined> {
  try {
    const { config, warnings } = await load();
    await apply(config);
    log.info({ clusters: config.clusters.length }, 'configuration reloaded');
    if (warnings.length > 0) log.warn(formatIssues(warnings));
    return undefined;
  } catch (error) {
    const why = messageOf(error);
    const fields = error instanceof ConfigError ? { problems: why } : { err: error };
    log.error(fields, 'configuration not reloaded, the running one stays in force');
    return `the running configuration stays in force:\n${why}`;
  }
}

async function reloadWebConfig(options: ReloaderOptions): Promise<string | undefined> {
  const issues = await options.reloadWebConfig();
  if (issues.length === 0) return undefined;
  const problems = formatIssues(issues);
  options.log.error(
    { problems },
    'web config file not reloaded, its last good content stays in force',
  );
  return `the last good content of the web config file stays in force:\n${problems}`;
}

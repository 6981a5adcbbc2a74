import { ConfigError, type ConfigIssue, formatIssues } from './config/issues.ts';
import type { Config } from './config/schema.ts';
import type { LoadedConfig } from './config/load.ts';
import type { Log } from './log.ts';
import * as families from './metrics/outcome-families.ts';
import { Sheet } from './metrics/sheet.ts';
import type { Reloaded } from './web/reload.ts';

export interface ReloaderOptions {
  /** Reads the configuration anew, from where it came at first. */
  readonly load: () => Promise<LoadedConfig>;
  /** Reads the web config file; what keeps it from being in force fails the reload. */
  readonly reloadAccess: () => Promise<readonly ConfigIssue[]>;
  /** Puts it in force as a whole; rejects with everything as it was. */
  readonly apply: (config: Config) => Promise<void>;
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

/** Reloads one after the other; the start of the process counts as the first good one. */
export function createReloader(options: ReloaderOptions): Reloader {
  const { log, wallMs } = options;
  let last: Reloaded = { isGood: true };
  let lastGoodMs = wallMs();
  let queue: Promise<unknown> = Promise.resolve();

  async function reloadOnce(): Promise<Reloaded> {
    try {
      const { config, warnings } = await options.load();
      const problems = await options.reloadAccess();
      if (problems.length > 0) throw new ConfigError(problems);
      await options.apply(config);
      lastGoodMs = wallMs();
      last = { isGood: true };
      log.info({ clusters: config.clusters.length }, 'configuration reloaded');
      if (warnings.length > 0) log.warn(formatIssues(warnings));
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      last = { isGood: false, why };
      const fields = error instanceof ConfigError ? { problems: why } : { err: error };
      log.error(fields, 'configuration not reloaded, the running one stays in force');
    }
    return last;
  }

  return {
    reload() {
      const done = queue.then(reloadOnce);
      queue = done;
      return done;
    },
    outcome() {
      const sheet = new Sheet({});
      const isInForce = last.isGood && options.areFilesInForce();
      sheet.set(families.CONFIG_LAST_RELOAD_SUCCESSFUL, {}, isInForce ? 1 : 0);
      sheet.set(families.CONFIG_LAST_RELOAD_SUCCESS, {}, lastGoodMs / 1000);
      return sheet;
    },
  };
}

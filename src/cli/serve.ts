import { type App, startApp } from '../app.ts';
import { COLLECTORS } from '../collectors/index.ts';
import type { Config } from '../config/config.ts';
import { formatProblems } from '../config/findings.ts';
import { loadConfig } from '../config/load.ts';
import type { ConfigSources } from '../config/settings.ts';
import { createLog, type Log } from '../log.ts';
import type { Build } from './build.ts';
import { CommandError, EXIT } from './exit.ts';
import { untilSignal } from './signals.ts';

/** Runs the exporter until it is told to stop. */
export async function serve(
  sources: Omit<ConfigSources, 'collectors'>,
  build: Build,
): Promise<number> {
  const { config, warnings } = await loadConfig({ ...sources, collectors: COLLECTORS });
  const log = createLog(config.log);
  log.info({ version: build.version, revision: build.revision }, 'starting crdb-exporter');
  if (warnings.length > 0) {
    for (const line of formatProblems(warnings).split('\n')) log.warn(line);
  }
  const app = await startExporter(config, build, log);
  for (const address of app.addresses) log.info({ address }, 'listening');
  const signal = await untilSignal();
  log.info({ signal }, 'stopping');
  await app.stop();
  return EXIT.good;
}

/** Starts the exporter; an address that cannot be had becomes a message with its remedy. */
export async function startExporter(config: Config, build: Build, log: Log): Promise<App> {
  try {
    return await startApp({ config, collectors: COLLECTORS, build, log });
  } catch (error) {
    throw explainListening(error) ?? error;
  }
}

function explainListening(error: unknown): CommandError | undefined {
  if (!(error instanceof Error) || !('syscall' in error) || error.syscall !== 'listen') {
    return undefined;
  }
  const where = error.message.replace(/^listen \w+: /, '');
  const code = 'code' in error ? error.code : '';
  const remedy =
    code === 'EADDRINUSE'
      ? 'stop the process that has it or choose another --web.listen-address'
      : 'choose another --web.listen-address';
  return new CommandError(`cannot listen: ${where}; ${remedy}`, EXIT.failed, error);
}

import type { Command } from 'commander';
import { type App, type AppOptions, startApp } from '../app.ts';
import { COLLECTORS } from '../collectors/index.ts';
import { FILE_CHECK_MS, watchFiles } from '../config/file-watch.ts';
import { formatIssues } from '../config/issues.ts';
import { type ConfigSources, findFile, loadConfig } from '../config/load.ts';
import { createLog } from '../log.ts';
import type { Build } from './build.ts';
import { check } from './check.ts';
import { addExamples, type Invocation } from './command.ts';
import { endOnCrash } from './crash.ts';
import { CommandError, EXIT } from './exit.ts';
import { addConfigFlags, readConfigFlags } from './flags.ts';
import { createServiceManager, inheritedSockets } from './service-manager.ts';
import { type EndSignal, onEndSignal } from './signals.ts';

/** `serve`, also without its name: the exporter. */
export function define(command: Command, { env, build, done }: Invocation): void {
  command.option(
    '--config.check',
    'Check the configuration, print what is wrong with it and exit.',
  );
  addConfigFlags(command);
  addExamples(
    command,
    '--config.file=exporter.yml',
    'serve --config.file=exporter.yml --config.check',
    '--cluster.url=https://crdb:8080 --cluster.username=exporter --cluster.password-file=/run/secrets/crdb',
  );
  command.action(async (options: { readonly 'config.check'?: boolean }) => {
    const sources = { flags: readConfigFlags(command), env };
    done(options['config.check'] === true ? await check(sources) : await serve(sources, build));
  });
}

/** Runs the exporter until it is told to stop, which may be while it starts. */
async function serve(sources: Omit<ConfigSources, 'collectors'>, build: Build): Promise<number> {
  const told = Promise.withResolvers<EndSignal>();
  const listening = onEndSignal(told.resolve);
  try {
    return await serveUntil(told.promise, sources, build);
  } catch (error) {
    listening[Symbol.dispose]();
    throw error;
  }
}

async function serveUntil(
  told: Promise<EndSignal>,
  sources: Omit<ConfigSources, 'collectors'>,
  build: Build,
): Promise<number> {
  const all: ConfigSources = { ...sources, collectors: COLLECTORS };
  const { config, warnings } = await loadConfig(all);
  const load: AppOptions['load'] = (followed) => loadConfig({ ...all, ...followed });
  const log = createLog(config.log);
  using _crash = endOnCrash(log);
  log.info({ version: build.version, revision: build.revision }, 'starting crdb-exporter');
  if (warnings.length > 0) {
    for (const line of formatIssues(warnings).split('\n')) log.warn(line);
  }
  const { env } = sources;
  const sockets = inheritedSockets({ env, pid: process.pid });
  using serviceManager = createServiceManager({ env, pid: process.pid, log });
  const app = await startExporter({ config, build, log, load, sockets });
  using _reloads = await reloadOnChange(
    app,
    config.config.auto_reload ? findFile(sources) : undefined,
  );
  for (const address of app.addresses) log.info({ address }, 'listening');
  serviceManager.ready(`listening on ${app.addresses.join(', ')}`);
  const signal = await told;
  log.info({ signal }, 'stopping');
  serviceManager.stopping();
  await app.stop();
  return EXIT.good;
}

/** Starts the exporter; an address that cannot be had becomes a message with its remedy. */
export async function startExporter(
  options: Pick<AppOptions, 'config' | 'build' | 'log' | 'load' | 'sockets'>,
): Promise<App> {
  try {
    return await startApp({ ...options, collectors: COLLECTORS });
  } catch (error) {
    throw explainListening(error) ?? error;
  }
}

/** Reloads on SIGHUP, and when the content of the file changes, if there is one to look at. */
async function reloadOnChange(app: App, file: string | undefined): Promise<Disposable> {
  const reload = async (): Promise<void> => {
    await app.reload();
  };
  const onHangup = (): void => void reload();
  process.on('SIGHUP', onHangup);
  let isLoaded = false;
  const watch =
    file === undefined
      ? undefined
      : await watchFiles({
          files: () => [file],
          everyMs: FILE_CHECK_MS,
          async load() {
            // The first look only learns what is already running.
            if (isLoaded) await reload();
            isLoaded = true;
          },
        });
  return {
    [Symbol.dispose]() {
      process.off('SIGHUP', onHangup);
      watch?.[Symbol.dispose]();
    },
  };
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

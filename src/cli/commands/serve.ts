import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { type Build, createLog, type Log, sourceStack } from '#base';
import { COLLECTORS } from '#collectors';
import {
  type ConfigSources,
  FILE_CHECK_MS,
  findFile,
  formatIssues,
  loadConfig,
  readTextFile,
  watchFiles,
} from '#config';
import { Exporter, type ExporterOptions } from '#exporter';
import { createStatus } from '#status';
import { addExamples, type CommandContext, CommandError, EXIT, usageError } from '../command.ts';
import { readCommandForm } from '../process/command-form.ts';
import { untilStopSignal } from '../process/signals.ts';
import { createSystemdNotifier, inheritedSockets } from '../process/systemd.ts';
import { addConfigFlags, configSources } from '../schema-flags.ts';
import { check } from './check-config.ts';

/** `serve`, also without its name: the exporter. */
export function define(command: Command, context: CommandContext): void {
  command.option('--config.check', 'Check the configuration, print its errors and exit.');
  addConfigFlags(command);
  addExamples(
    command,
    '--config.file=exporter.yml',
    'serve --config.file=exporter.yml --config.check',
    '--cluster.url=https://crdb:8080 --cluster.username=exporter --cluster.password-file=/run/secrets/crdb',
  );
  command.action(async (options: { readonly 'config.check'?: boolean }) => {
    if (options['config.check']) return check(command, context);
    return serve(configSources(command, context), context.build);
  });
}

/** Small buffers share a block of this size, which lives as long as one of them; the default of Node.js is 64 KiB. */
const BUFFER_POOL_BYTES = 8 * 1024;

/** Runs the exporter until a signal stops it. The signal may arrive while the exporter starts. */
async function serve(sources: ConfigSources, build: Build): Promise<void> {
  Buffer.poolSize = BUFFER_POOL_BYTES;
  const stopped = untilStopSignal();
  using hangups = reloadOnHangup();
  const { config, warnings } = await loadConfig(sources);
  // The web config file is reloaded by its own watcher.
  const load = () => loadConfig({ ...sources, checkedFiles: 'clusters' });
  let droppedLogLines = 0;
  const log = createLog({ ...config.log, lineDropped: () => (droppedLogLines += 1) });
  using _crashHandler = exitOnUncaughtError(log);
  log.info({ version: build.version, revision: build.revision }, 'starting crdb-exporter');
  if (warnings.length > 0) {
    for (const line of formatIssues(warnings).split('\n')) log.warn(line);
  }
  const { env } = sources;
  const sockets = inheritedSockets(env);
  if (config.web.systemd_socket && sockets.length === 0) {
    throw usageError(
      'web.systemd_socket: systemd handed over no socket; start the exporter through crdb-exporter.socket, or leave out --web.systemd-socket',
    );
  }
  const systemd = createSystemdNotifier(env, log);
  const commandForm = readCommandForm(sources, config);
  const exporter = await runExporter({
    config,
    build,
    log,
    load,
    sockets,
    droppedLogLines: () => droppedLogLines,
    companion: (daemon) => createStatus(daemon, log, commandForm),
  });
  hangups.started(exporter);
  const file = config.config.auto_reload ? findFile(sources) : undefined;
  using _reloads = file === undefined ? undefined : await reloadOnChange(exporter, load, file);
  for (const address of exporter.addresses) log.info({ address }, 'listening');
  systemd.ready(`listening on ${exporter.addresses.join(', ')}`);
  const signal = await stopped;
  log.info({ signal }, 'stopping');
  systemd.stopping();
  await exporter.stop();
}

/**
 * After an error that nothing caught the state of the process is unknown: the error is logged and the process ends.
 * Disposing restores the behaviour of Node.
 */
function exitOnUncaughtError(log: Log): Disposable {
  const onError = (thrown: unknown): void => {
    const err = thrown instanceof Error ? thrown : new Error(String(thrown));
    log.fatal({ err, stack: sourceStack(err) }, 'unexpected error, exiting: please report it');
    process.exit(EXIT.failed);
  };
  // Unhandled rejections arrive here, too.
  process.on('uncaughtException', onError);
  return { [Symbol.dispose]: () => void process.off('uncaughtException', onError) };
}

/** Starts the exporter; an address that it cannot listen on becomes a message with its remedy. */
export async function runExporter(options: Omit<ExporterOptions, 'collectors'>): Promise<Exporter> {
  try {
    return await Exporter.start({ ...options, collectors: COLLECTORS });
  } catch (error) {
    // Nothing else looks up a host before the first poll.
    const isAddressError =
      error instanceof Error &&
      'syscall' in error &&
      (error.syscall === 'listen' || error.syscall === 'getaddrinfo');
    if (!isAddressError) throw error;
    // Node.js reports EACCES, too, for a socket whose folder does not exist.
    const cause = error.message
      .replace(/^listen \w+: /, '')
      .replace(/^permission denied (?=.*\/)/, 'permission denied, or there is no such folder: ');
    const remedy = `${isInUse(error) ? 'stop the process that uses it or ' : ''}choose another --web.listen-address`;
    throw new CommandError(`cannot listen: ${cause}; ${remedy}`, EXIT.failed, error);
  }
}

/** Whether another socket listens at the address. */
export function isInUse(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
}

/** Reloads on SIGHUP. A signal that arrives during the start, and would end the process, is a reload after the start. */
function reloadOnHangup() {
  const { promise, resolve } = Promise.withResolvers<Exporter>();
  const onHangup = (): void => void promise.then((exporter) => exporter.reload());
  process.on('SIGHUP', onHangup);
  return { started: resolve, [Symbol.dispose]: () => void process.off('SIGHUP', onHangup) };
}

/** Reloads when the content of the file changes. */
async function reloadOnChange(
  exporter: Exporter,
  load: () => Promise<unknown>,
  file: string,
): Promise<Disposable> {
  const listeners = new DisposableStack();
  const over = new AbortController();
  listeners.defer(() => over.abort());
  const watch = await watchFiles({
    files: () => [file],
    everyMs: FILE_CHECK_MS,
    // It is read for each reload.
    read: () => Promise.resolve(true),
    onChange: () => void reloadChanged(exporter, load, file, over.signal),
  });
  listeners.use(watch);
  return listeners;
}

/**
 * Reloads, again where the content is refused once it can be loaded: a secret or a certificate that it names may come after it.
 * Ends when the content changes, which is a reload of its own.
 */
async function reloadChanged(
  exporter: Exporter,
  load: () => Promise<unknown>,
  file: string,
  signal: AbortSignal,
): Promise<void> {
  const readContent = () => readTextFile(file, 'the configuration file').catch(() => undefined);
  if ((await exporter.reload()).error === undefined) return;
  const refused = await readContent();
  while (await sleep(FILE_CHECK_MS, true, { ref: false, signal }).catch(() => false)) {
    if ((await readContent()) !== refused) return;
    const isComplete = await load().then(
      () => true,
      () => false,
    );
    if (isComplete) return void (await exporter.reload());
  }
}

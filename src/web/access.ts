import { watchFiles } from '../config/file-watch.ts';
import { ConfigError, type ConfigIssue, formatIssues } from '../config/issues.ts';
import type { ServerTls } from '../config/server-tls.ts';
import { NO_WEB_CONFIG, type WebConfig } from '../config/web-config.ts';
import { readWebConfig, type WebConfigReading } from '../config/web-config.ts';
import type { Log } from '../log.ts';

/** What the web config file says at present: TLS, users, headers and the rate limit. */
export interface Access extends Disposable {
  readonly config: () => WebConfig;
  /** Whether all that the file says now is in force. */
  readonly isInForce: () => boolean;
  /** Reads the file now. Resolves to what keeps its content from being in force. */
  readonly reload: () => Promise<readonly ConfigIssue[]>;
  /** Names who wants to know when certificates, CAs or other settings of TLS were replaced. */
  readonly onNewTls: (listener: (tls: ServerTls) => void) => void;
}

export interface AccessOptions {
  /** Without one everybody may ask, in plain text. */
  readonly file: string | undefined;
  readonly everyMs: number;
  readonly log: Log;
}

/**
 * Reads the web config file and follows it: a changed content, of the file or of a certificate that
 * it names, is in force at once; a bad one, and one that needs a restart, changes nothing and is logged. Rejects with a ConfigError
 * when the file cannot be used at the start.
 */
export async function openAccess({ file, everyMs, log }: AccessOptions): Promise<Access> {
  if (file === undefined)
    return {
      config: () => NO_WEB_CONFIG,
      isInForce: () => true,
      reload: () => Promise.resolve([]),
      onNewTls() {},
      [Symbol.dispose]() {},
    };
  const listeners: ((tls: ServerTls) => void)[] = [];
  const first = await readWebConfig(file);
  if (first.problems.length > 0) throw new ConfigError(first.problems);
  let { config, files, warnings } = first;
  let isOpen = false;
  let isInForce = true;
  let lastReading: Promise<unknown> = Promise.resolve();

  async function readAgain(): Promise<readonly ConfigIssue[]> {
    const reading = await readWebConfig(file ?? '');
    // A file that is named but missing may come yet, and that of the last good content may come back.
    files = [...new Set([...reading.files, ...files])];
    const { problems } = reading;
    const reasons = problems.length > 0 ? problems : findRestarts(file ?? '', config, reading);
    isInForce = reasons.length === 0;
    if (!isInForce) return reasons;
    files = reading.files;
    ({ config, warnings } = reading);
    const { tls } = config;
    if (tls !== undefined) for (const listener of listeners) listener(tls);
    return [];
  }

  /** One reading after the other, so that the latest content wins. */
  function reload(): Promise<readonly ConfigIssue[]> {
    const reading = lastReading.then(readAgain);
    lastReading = reading.catch(() => undefined);
    return reading;
  }

  async function load(): Promise<void> {
    const problems = await reload();
    if (problems.length > 0) logProblems(log, problems);
    // The warnings of the start are logged with those of the configuration.
    if (problems.length > 0 || !isOpen) return;
    log.info({ file }, 'the web config file was read again');
    logWarnings(log, warnings);
  }

  const watch = await watchFiles({ files: () => files, everyMs, load });
  isOpen = true;
  return {
    config: () => config,
    isInForce: () => isInForce,
    reload,
    onNewTls: (listener) => listeners.push(listener),
    [Symbol.dispose]: () => watch[Symbol.dispose](),
  };
}

function logProblems(log: Log, problems: ConfigError['problems']): void {
  for (const problem of formatIssues(problems).split('\n')) {
    log.error(
      { problem },
      'the web config file cannot be used; what it said before stays in force',
    );
  }
}

function logWarnings(log: Log, warnings: WebConfigReading['warnings']): void {
  for (const warning of warnings) log.warn(formatIssues([warning]));
}

/**
 * What the new content turns on or off that only a restart may. Listeners cannot learn or unlearn TLS, nor to ask for
 * certificates, while they listen; and a file that was emptied or cut off by accident must not let everybody in.
 */
function findRestarts(file: string, old: WebConfig, { config }: WebConfigReading): ConfigIssue[] {
  const found: ConfigIssue[] = [];
  const add = (path: string, message: string): void => {
    found.push({ place: { source: file, path }, message });
  };
  if ((old.tls === undefined) !== (config.tls === undefined)) {
    add('tls_server_config', 'TLS is turned on or off only by a restart');
  } else if (old.tls?.clientAuth.asks !== config.tls?.clientAuth.asks) {
    add('tls_server_config.client_auth_type', 'it is turned on or off only by a restart');
  }
  if (old.tls?.clientCas !== undefined && config.tls !== undefined && !config.tls.clientCas) {
    add('tls_server_config.client_ca_file', 'the CA of clients is removed only by a restart');
  }
  if (old.users.size > 0 && config.users.size === 0) {
    add('basic_auth_users', 'no users are left: passwords are turned off only by a restart');
  }
  if ((old.tls?.allowedSans.length ?? 0) > 0 && config.tls?.allowedSans.length === 0) {
    add('tls_server_config.client_allowed_sans', 'it is turned off only by a restart');
  }
  return found;
}

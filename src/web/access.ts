import { formatIssues, ConfigError } from '../config/issues.ts';
import { watchFiles } from '../config/file-watch.ts';
import type { ServerTls } from '../config/server-tls.ts';
import { NO_WEB_CONFIG, type WebConfig } from '../config/web-config.ts';
import { readWebConfig } from '../config/web-config.ts';
import type { Log } from '../log.ts';

/** What the web config file says at present: TLS, users, headers and the rate limit. */
export interface Access extends Disposable {
  readonly config: () => WebConfig;
  /** Whether all that the file says now is in force. */
  readonly isInForce: () => boolean;
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
 * it names, is in force at once; a bad one changes nothing and is logged. Rejects with a ConfigError
 * when the file cannot be used at the start.
 */
export async function openAccess({ file, everyMs, log }: AccessOptions): Promise<Access> {
  if (file === undefined)
    return {
      config: () => NO_WEB_CONFIG,
      isInForce: () => true,
      onNewTls() {},
      [Symbol.dispose]() {},
    };
  const listeners: ((tls: ServerTls) => void)[] = [];
  const first = await readWebConfig(file);
  if (first.problems.length > 0) throw new ConfigError(first.problems);
  let { config, files } = first;
  let isOpen = false;
  let isInForce = true;

  async function load(): Promise<void> {
    const reading = await readWebConfig(file ?? '');
    // A file that is named but missing may come yet, and that of the last good content may come back.
    files = [...new Set([...reading.files, ...files])];
    if (reading.problems.length > 0) {
      isInForce = false;
      logProblems(log, reading.problems);
      return;
    }
    files = reading.files;
    const tls = replaceTls(config.tls, reading.config.tls, log);
    isInForce = tls === reading.config.tls;
    const isNew = tls !== config.tls;
    config = { ...reading.config, tls };
    if (tls !== undefined && isNew) for (const listener of listeners) listener(tls);
    if (isOpen) log.info({ file }, 'the web config file was read again');
  }

  const watch = await watchFiles({ files: () => files, everyMs, load });
  isOpen = true;
  return {
    config: () => config,
    isInForce: () => isInForce,
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

/** Listeners cannot learn or unlearn TLS, nor to ask for certificates, while they listen. */
function replaceTls(
  old: ServerTls | undefined,
  next: ServerTls | undefined,
  log: Log,
): ServerTls | undefined {
  if (old?.clientAuth.asks === next?.clientAuth.asks) return next;
  const what = old === undefined || next === undefined ? 'TLS' : 'client_auth_type';
  log.error(`${what} is turned on or off only by a restart; the old TLS settings stay in force`);
  return old;
}

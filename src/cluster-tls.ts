import { clientTlsFiles, type ClientTls, readClientTls } from './config/tls-files.ts';
import type { TlsConfig } from './config/schema.ts';
import { watchFiles } from './config/file-watch.ts';
import type { Log } from './log.ts';

/** The CA, certificate and key for one cluster, as their files are at present. */
export interface ClusterTls extends Disposable {
  readonly current: () => ClientTls;
  /** Whether the files as they are now are in force. */
  readonly isInForce: () => boolean;
  /** Names who puts changed ones in force. */
  readonly onChange: (listener: (tls: ClientTls) => void) => void;
}

export interface Follow {
  readonly everyMs: number;
  readonly log: Log;
}

/**
 * Reads the files and follows them: changed ones are in force at once, bad ones change nothing and
 * are logged. Rejects when they cannot be used at the start.
 */
export async function openClusterTls(
  config: TlsConfig,
  follow: Follow | undefined,
): Promise<ClusterTls> {
  let current = await readClientTls(config);
  let listener: ((tls: ClientTls) => void) | undefined;
  const files = clientTlsFiles(config);
  if (files.length === 0 || follow === undefined) {
    return {
      current: () => current,
      isInForce: () => true,
      onChange: () => undefined,
      [Symbol.dispose]() {},
    };
  }

  let isInForce = true;
  const { everyMs, log } = follow;
  async function load(): Promise<void> {
    try {
      current = await readClientTls(config);
      isInForce = true;
      // Nobody listens yet when this runs for the first time.
      listener?.(current);
      if (listener !== undefined) log.info('TLS files were read again');
    } catch (error) {
      isInForce = false;
      log.error({ err: error }, 'TLS files cannot be used; those read before stay in force');
    }
  }

  const watch = await watchFiles({ files: () => files, everyMs, load });
  return {
    current: () => current,
    isInForce: () => isInForce,
    onChange(newListener) {
      listener = newListener;
    },
    [Symbol.dispose]: () => watch[Symbol.dispose](),
  };
}

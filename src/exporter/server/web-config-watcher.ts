import { type Log, messageOf } from '#base';
import {
  ConfigError,
  type ConfigIssue,
  type FileWatch,
  formatIssues,
  readWebConfig,
  watchFiles,
  type WebConfig,
  type WebConfigReading,
} from '#config';

/** The web config file: TLS, users, headers and the rate limit. */
export type WebConfigWatcher = FileWatch<WebConfigReading>;

/**
 * Reads the web config file and follows it: changed content, of the file or of a certificate that it names, takes effect
 * at once. Invalid content, and a change that needs a restart, changes nothing and is logged. Rejects with a ConfigError
 * when the file cannot be used at the start. Without a file everybody has access, in plain text.
 */
export function watchWebConfig(file: string | undefined, everyMs: number, log: Log) {
  let files: readonly string[] = file === undefined ? [] : [file];
  return watchFiles<WebConfigReading>({
    files: () => files,
    everyMs,
    async read(previous) {
      const reading = await readWebConfig(file);
      // Also after an error: a file that is named but missing may appear later.
      ({ files } = reading);
      const { config, problems } = reading;
      if (problems.length > 0) throw new ConfigError(problems);
      const restarts = findRestarts(file ?? '', previous?.config ?? config, config);
      if (restarts.length > 0) throw new ConfigError(restarts);
      return reading;
    },
    onChange({ warnings }) {
      log.info({ file }, 'web config file reloaded');
      for (const warning of warnings) log.warn(formatIssues([warning]));
    },
    onError(error) {
      for (const problem of messageOf(error).split('\n')) {
        log.error({ problem }, 'web config file not reloaded, keeping the previous one');
      }
    },
  });
}

/** Changes that need a restart: a running listener cannot make them, or they could let in more clients by accident. */
function findRestarts(source: string, old: WebConfig, { tls, users }: WebConfig): ConfigIssue[] {
  const section = 'tls_server_config';
  const was = old.tls;
  const hadSans = (was?.allowedSans.length ?? 0) > 0;
  const areBoth = was !== undefined && tls !== undefined;
  const changes = [
    [(was === undefined) !== (tls === undefined), section, 'turning TLS on or off'],
    [
      areBoth && was.clientAuth.requested !== tls.clientAuth.requested,
      `${section}.client_auth_type`,
      'turning client certificates on or off',
    ],
    [
      areBoth && was.clientCas !== undefined && tls.clientCas === undefined,
      `${section}.client_ca_file`,
      'removing the CA of clients',
    ],
    [
      areBoth && hadSans && tls.allowedSans.length === 0,
      `${section}.client_allowed_sans`,
      'removing all names',
    ],
    [
      old.users.size > 0 && users.size === 0,
      'basic_auth_users',
      'no users are left: turning passwords off',
    ],
  ] as const;
  return changes.flatMap(([isChanged, path, message]) =>
    isChanged ? [{ position: { source, path }, message: `${message} needs a restart` }] : [],
  );
}

import { pino } from 'pino';
import type { DestinationStream, Logger } from 'pino';

/** What the rest of the program logs with: `log.info({ key: value }, 'what happened')`. */
export type Log = Logger;

export interface LogOptions {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly format: 'logfmt' | 'json';
  /** Standard output (1), standard error (2) or anything that takes a line; standard output by default. */
  readonly destination?: 1 | 2 | DestinationStream;
}

/** Keys whose values are never logged, wherever they stand in the first three levels. */
const SECRET_KEYS = [
  'password',
  'token',
  'session',
  'secret',
  'cookie',
  'set-cookie',
  'authorization',
  'Authorization',
  'x-cockroach-api-session',
  'X-Cockroach-API-Session',
  'x-service-api-session',
  'X-Service-API-Session',
];

/** Lines kept while standard output refuses them; beyond that the newest are dropped. */
const MAX_BACKLOG_BYTES = 1024 * 1024;
const MAX_CAUSES = 5;

/** A logger that writes each line at once, in this thread, so that the last words before a crash are not lost. */
export function createLog({ level, format, destination = 1 }: LogOptions): Log {
  const lines = typeof destination === 'number' ? openStandardStream(destination) : destination;
  const log: Log = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: {
        paths: SECRET_KEYS.flatMap((key) => [`["${key}"]`, `*["${key}"]`, `*.*["${key}"]`]),
        censor: '<secret>',
      },
      formatters: {
        level: (label) => ({ level: label }),
        log: (fields) => writeErrors(fields, log.isLevelEnabled('debug')),
      },
    },
    format === 'json' ? lines : { write: (line: string) => lines.write(jsonToLogfmt(line)) },
  );
  return log;
}

/** A full disk or a reader that went away costs lines, not the process; writing goes on when it can. */
function openStandardStream(descriptor: 1 | 2): DestinationStream {
  const stream = pino.destination({ dest: descriptor, sync: true, maxLength: MAX_BACKLOG_BYTES });
  // There is no other place to report that the log cannot be written.
  return stream.on('error', () => {});
}

/** Errors as their messages, causes included; the stack only for who debugs. */
function writeErrors(fields: Record<string, unknown>, withStack: boolean): Record<string, unknown> {
  const { err } = fields;
  if (!(err instanceof Error)) return fields;
  return { ...fields, err: describeError(err), ...(withStack && { stack: err.stack }) };
}

function describeError(error: Error): string {
  let text = error.message;
  let { cause } = error;
  for (let depth = 0; depth < MAX_CAUSES && cause instanceof Error; depth++) {
    // Many wrap a message by repeating it.
    if (!text.includes(cause.message)) text += `: ${cause.message}`;
    ({ cause } = cause);
  }
  return text;
}

function jsonToLogfmt(line: string): string {
  const { time, level, msg, ...others }: Record<string, unknown> = JSON.parse(line);
  const pairs = Object.entries({ time, level, msg, ...others }).filter(
    ([, value]) => value !== undefined,
  );
  return `${pairs.map(([key, value]) => `${logfmtKey(key)}=${logfmtValue(value)}`).join(' ')}\n`;
}

function logfmtKey(key: string): string {
  return key === '' ? '_' : key.replaceAll(/[\s="\p{C}]/gu, '_');
}

/** Quoted as JSON does when it holds anything that would end or blur a bare word. */
function logfmtValue(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text === '' || /[\s="\\\p{C}]/u.test(text) ? JSON.stringify(text) : text;
}

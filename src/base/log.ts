import { pino } from 'pino';
import type { DestinationStream, Logger } from 'pino';
import { sourceStack } from './source-stack.ts';

/** The logger of the whole program: `log.info({ key: value }, 'what happened')`. */
export type Log = Logger;

export interface LogOptions {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly format: 'logfmt' | 'json';
  /** Standard output (1), standard error (2) or anything that takes a line; standard output by default. */
  readonly destination?: 1 | 2 | DestinationStream;
  /** Called for each line that a standard stream did not take. */
  readonly lineDropped?: (() => void) | undefined;
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

/** Lines kept while nobody reads standard output; beyond that the newest are dropped. */
const MAX_BACKLOG_BYTES = 1024 * 1024;
/** A value that is longer is cut, since texts of servers can be of any length. In UTF-16 code units. */
const MAX_VALUE_LENGTH = 2_000;
const MAX_CAUSES = 5;

/** A logger that writes each line at once, in this thread, so that the last words before a crash are not lost. */
export function createLog({ level, format, destination = 1, lineDropped }: LogOptions): Log {
  const lines =
    typeof destination === 'number' ? openStandardStream(destination, lineDropped) : destination;
  const write = format === 'json' ? shortenJson : jsonToLogfmt;
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
    { write: (line: string) => lines.write(write(line)) },
  );
  return log;
}

/** A full disk, and a reader that went away or does not read, cost lines and no time; writing goes on when it can. */
function openStandardStream(descriptor: 1 | 2, lineDropped = (): void => {}): DestinationStream {
  // Node opens its stream without blocking, and so is the descriptor from then on: a full pipe gives EAGAIN.
  void (descriptor === 1 ? process.stdout : process.stderr).writable;
  const stream = pino.destination({
    dest: descriptor,
    sync: true,
    maxLength: MAX_BACKLOG_BYTES,
    // The default waits, and with it the whole process. The next line tries again.
    retryEAGAIN: () => false,
  });
  stream.on('drop', lineDropped);
  // There is no other place to report that the log cannot be written.
  return stream.on('error', () => {});
}

/** Errors as their messages, causes included; the stack only for who debugs. */
function writeErrors(fields: Record<string, unknown>, withStack: boolean): Record<string, unknown> {
  const { err } = fields;
  if (!(err instanceof Error)) return fields;
  return { ...fields, err: describeError(err), ...(withStack && { stack: sourceStack(err) }) };
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

function shortenJson(line: string): string {
  if (line.length <= MAX_VALUE_LENGTH) return line;
  const fields: Record<string, unknown> = JSON.parse(line);
  const shortened = Object.entries(fields).map(([key, value]) => [key, shorten(value)]);
  return `${JSON.stringify(Object.fromEntries(shortened))}\n`;
}

function jsonToLogfmt(line: string): string {
  const { time, level, msg, ...others }: Record<string, unknown> = JSON.parse(line);
  const fields = Object.entries({ time, level, msg, ...others })
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${logfmtKey(key)}=${logfmtValue(shorten(value))}`);
  return `${fields.join(' ')}\n`;
}

/** The value, or the beginning of its text. */
function shorten(value: unknown): unknown {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length <= MAX_VALUE_LENGTH ? value : `${text.slice(0, MAX_VALUE_LENGTH)}…`;
}

function logfmtKey(key: string): string {
  return key === '' ? '_' : key.replaceAll(/[\s="\p{C}]/gu, '_');
}

/** Quoted as JSON does when it holds anything that would end or blur a bare word. */
function logfmtValue(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text === '' || /[\s="\\\p{C}]/u.test(text) ? JSON.stringify(text) : text;
}

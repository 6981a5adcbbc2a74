import { formatCount, formatJson, formatLine } from '#base';
import { explainFileError } from '#config';

/** A reader that stops reading (`| head`) ends the output and is no error; for others see `outputFailure`. */
export function ignoreBrokenPipes(): void {
  // A process that runs several command lines listens once.
  process.stdout.off('error', keepError).on('error', keepError);
  process.stderr.off('error', throwOtherErrors).on('error', throwOtherErrors);
}

/** The first error of standard output, which itself forgets it. */
let firstError: Error | null = null;

function keepError(error: Error): void {
  firstError ??= error;
}

function throwOtherErrors(error: Error): void {
  if (!isBrokenPipe(error)) throw error;
}

/** Why standard output is incomplete, unless its reader wanted no more. */
export function outputFailure(): string | undefined {
  const error = firstError ?? process.stdout.errored;
  return error === null || isBrokenPipe(error) ? undefined : explainFileError(error);
}

function isBrokenPipe(error: Error): boolean {
  return 'code' in error && error.code === 'EPIPE';
}

/** Writes lines that may hold text of a server: each is escaped, and stays one line. */
export async function writeLines(...lines: readonly string[]): Promise<void> {
  await writeOut(lines.map((line) => `${formatLine(line)}\n`).join(''));
}

/**
 * Writes to standard output as it is: only what is escaped already, as a table or JSON; `writeLines` is for everything else.
 * Resolves when it can take more, to whether it took the text.
 */
export async function writeOut(text: string): Promise<boolean> {
  if (process.stdout.writableEnded || process.stdout.destroyed) return false;
  return new Promise((resolve) => process.stdout.write(text, (error) => resolve(!error)));
}

/** Writes one value, as ndjson on one line. */
export async function writeJson(value: unknown, format: 'json' | 'ndjson'): Promise<void> {
  await writeOut(`${formatJson(value, format === 'json' ? 2 : 0)}\n`);
}

/** Writes text of a server: unchanged to a file or pipe, escaped to a terminal. Resolves to whether it was taken. */
export async function writeServerText(text: string): Promise<boolean> {
  const lines = (): string[] => text.split(/\r?\n/).map(formatLine);
  return writeOut(process.stdout.isTTY ? lines().join('\n') : text);
}

/** Prints one line for a person on standard error, escaped: standard output is for data alone. */
export function note(text: string): void {
  process.stderr.write(`crdb-exporter: ${formatLine(text)}\n`);
}

const BAR_WIDTH = 20;

/**
 * A line on the terminal during a long listing: what is read, a bar and the count. Nothing where standard error is no
 * terminal, or where it would mix with data on the same one. `advance` is cheap enough for each element; `step` sets the
 * known part of the work, for the bar.
 */
export async function withProgress<Result>(
  what: string,
  format: string,
  work: (advance: () => void, step: (done: number, planned: number) => void) => Promise<Result>,
): Promise<Result> {
  let count = 0;
  let bar = '';
  const advance = (): void => {
    count += 1;
  };
  const step = (done: number, planned: number): void => {
    const full = Math.round((done / Math.max(1, planned)) * BAR_WIDTH);
    bar = `${'█'.repeat(full)}${'░'.repeat(BAR_WIDTH - full)} ${done}/${planned}  `;
  };
  const isMixed = format !== 'table' && process.stdout.isTTY;
  const describe = (): string => bar + (count === 0 ? '' : formatCount(count));
  const stop = isMixed ? undefined : showProgress(what, describe);
  try {
    return await work(advance, step);
  } finally {
    stop?.();
  }
}

const PROGRESS_MS = 100;
const CLEAR_LINE = '\r\u001B[K';

/**
 * Shows on standard error what is done, in a line that is written again ten times a second; the result removes it. Nothing
 * where that is no terminal.
 */
export function showProgress(what: string, state: () => string): () => void {
  const stream = process.stderr;
  if (!stream.isTTY) return () => undefined;
  const timer = setInterval(() => {
    // A longer line would wrap, and leave its first part.
    stream.write(CLEAR_LINE + `${what} ${state()}`.slice(0, stream.columns - 1));
  }, PROGRESS_MS);
  return () => {
    clearInterval(timer);
    stream.write(CLEAR_LINE);
  };
}

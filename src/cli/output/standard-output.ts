import { formatJson, formatLine } from '../../format.ts';

/** A reader that stops reading (`| head`) ends the output and is no error. */
export function ignoreBrokenPipes(): void {
  for (const stream of [process.stdout, process.stderr]) {
    if (!stream.listeners('error').includes(throwOtherErrors)) {
      stream.on('error', throwOtherErrors);
    }
  }
}

function throwOtherErrors(error: Error): void {
  if (!isBrokenPipe(error)) throw error;
}

/** Calls back when the reader of standard output is gone, until disposed. */
export function onBrokenPipe(callback: () => void): Disposable {
  const listener = (error: Error): void => {
    if (isBrokenPipe(error)) callback();
  };
  process.stdout.on('error', listener);
  return { [Symbol.dispose]: () => void process.stdout.off('error', listener) };
}

function isBrokenPipe(error: Error): boolean {
  return 'code' in error && error.code === 'EPIPE';
}

/** Writes to standard output; resolves when it can take more. */
export async function writeOut(text: string): Promise<void> {
  if (process.stdout.writableEnded || process.stdout.destroyed) return;
  await new Promise<void>((resolve) => process.stdout.write(text, () => resolve()));
}

/** Writes one value, as ndjson on one line. */
export async function writeJson(value: unknown, format: 'json' | 'ndjson'): Promise<void> {
  await writeOut(`${formatJson(value, format === 'json' ? 2 : 0)}\n`);
}

/** Writes text of a server: unchanged to a file or pipe, escaped to a terminal. */
export async function writeServerText(text: string): Promise<void> {
  const lines = (): string[] => text.split(/\r?\n/).map(formatLine);
  await writeOut(process.stdout.isTTY ? lines().join('\n') : text);
}

/** Prints one line for a person on standard error, escaped: standard output is for data alone. */
export function note(text: string): void {
  process.stderr.write(`crdb-exporter: ${formatLine(text)}\n`);
}

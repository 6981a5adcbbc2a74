import { writeLine } from './human.ts';

/** Whoever reads our output may stop reading (`| head`): that is the end of the output, not an error. */
export function ignoreBrokenPipes(): void {
  for (const stream of [process.stdout, process.stderr]) {
    if (!stream.listeners('error').includes(refuseOtherErrors)) {
      stream.on('error', refuseOtherErrors);
    }
  }
}

function refuseOtherErrors(error: Error): void {
  if (!isBrokenPipe(error)) throw error;
}

/** Calls back when the reader of standard output is gone, until it is disposed of. */
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

/** Writes to standard output; resolves when it may take more. */
export async function writeOut(text: string): Promise<void> {
  if (process.stdout.writableEnded || process.stdout.destroyed) return;
  await new Promise<void>((resolve) => process.stdout.write(text, () => resolve()));
}

/** Writes lines that hold text of a server: a program gets the very text, on a terminal nothing of it is obeyed. */
export async function writeServerText(text: string): Promise<void> {
  const lines = (): string[] => text.split(/\r?\n/).map(writeLine);
  await writeOut(process.stdout.isTTY ? lines().join('\n') : text);
}

/** Prints one line for the person: standard output is for data alone. What a server wrote cannot steer the terminal. */
export function note(text: string): void {
  process.stderr.write(`crdb-exporter: ${writeLine(text)}\n`);
}

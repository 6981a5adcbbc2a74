import { open, realpath, rm } from 'node:fs/promises';
import { explainFileError } from '#config';
import { CommandError } from '../command.ts';

/**
 * Writes the file that an option names. Rejects with a CommandError where it cannot be written; then half a file is not left. While
 * it waits, as for the reader of a FIFO, Ctrl-C ends the process.
 */
export async function writeOutputFile(option: string, file: string, text: string): Promise<void> {
  let isBegun = false;
  try {
    await using handle = await open(file, 'w');
    isBegun = (await handle.stat()).isFile();
    await handle.writeFile(text);
  } catch (error) {
    // A link to it stays, as `/dev/stdout`.
    if (isBegun) {
      await realpath(file)
        .then(rm)
        .catch(() => undefined);
    }
    throw unwritable(option, file, error);
  }
}

/** Why a file cannot be written, and what to do. */
export function unwritable(option: string, file: string, error: unknown): CommandError {
  const cause = explainFileError(error, 'folder');
  return new CommandError(
    `cannot write ${file}: ${cause}; correct that, or choose another place with ${option}`,
  );
}

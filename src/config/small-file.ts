import { constants, type Stats } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';

/** Far above any configuration, certificate or secret. */
const MAX_BYTES = 1024 * 1024;
/** Most files fit in one. */
const CHUNK_BYTES = 16 * 1024;

/** What stands in a path instead of a regular file. */
const OTHER_TYPES: readonly (readonly [(found: Stats) => boolean, string])[] = [
  [(found) => found.isDirectory(), 'it is a directory'],
  [(found) => found.isFIFO(), 'it is a named pipe: name a regular file'],
  [(found) => found.isSocket(), 'it is a socket: name a regular file'],
];

/**
 * The bytes of a regular file of at most 1 MiB. Never waits for a writer: rejects at once where a named pipe, device,
 * socket or directory is, with the reason in words.
 */
export async function readSmallFile(path: string): Promise<Buffer> {
  // Opening alone can have effects, on a device or on who waits at the other end of a pipe.
  requireRegularFile(await stat(path));
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  requireRegularFile(await file.stat());
  return await readAll(file);
}

/** The same as text, in UTF-8. */
export async function readSmallText(path: string): Promise<string> {
  return (await readSmallFile(path)).toString();
}

function requireRegularFile(found: Stats): void {
  if (found.isFile()) return;
  const [, reason = 'it is a device: name a regular file'] =
    OTHER_TYPES.find(([isType]) => isType(found)) ?? [];
  throw new Error(reason);
}

/** The size is not asked for beforehand: a file may grow meanwhile, and some of the system have size 0. */
async function readAll(file: FileHandle): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for (let length = 0; length <= MAX_BYTES;) {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(CHUNK_BYTES));
    if (bytesRead === 0) return Buffer.concat(chunks);
    chunks.push(buffer.subarray(0, bytesRead));
    length += bytesRead;
  }
  throw new Error('it is larger than 1 MiB: is it the right file?');
}

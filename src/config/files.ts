import { constants, type Stats } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import type { ConfigIssues, Place } from './issues.ts';

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

/** A file error in words, without the path. */
export function explainFileError(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOENT' || code === 'ENOTDIR') return 'there is no such file';
  if (code === 'EACCES' || code === 'EPERM') return 'permission denied';
  if (code === 'EISDIR') return 'it is a directory';
  return error instanceof Error ? error.message : String(error);
}

const OTHERS_READ = 0o004;
const OTHERS_WRITE = 0o002;

/** A file that not every user of the machine should be able to use. */
export interface GuardedFile {
  readonly path: string;
  /** For the message: `the secret file`. */
  readonly what: string;
  /** Whether others may read it, as where it holds no secret. */
  readonly isReadable?: boolean;
}

/** Warns when every user of the machine can write to a file, or read it where that is not meant. */
export async function warnOfOtherUsers(
  { path, what, isReadable = false }: GuardedFile,
  place: Place,
  issues: ConfigIssues,
): Promise<void> {
  // A file that has gone meanwhile is reported by who reads it.
  const mode = await stat(path).then(
    (found) => found.mode,
    () => 0,
  );
  const canRead = !isReadable && (mode & OTHERS_READ) !== 0;
  const canWrite = (mode & OTHERS_WRITE) !== 0;
  if (!canRead && !canWrite) return;
  const verbs = [...(canRead ? ['read'] : []), ...(canWrite ? ['change'] : [])].join(' and ');
  // Only these bits: the owner and the group may be those that the exporter reads it by.
  const remedy = `chmod o-${canRead ? 'r' : ''}${canWrite ? 'w' : ''} ${path}`;
  const octal = (mode & 0o7777).toString(8).padStart(4, '0');
  const message = `${what} ${path} has mode ${octal}, so every user can ${verbs} it`;
  issues.warn(place, `${message}: run \`${remedy}\``);
}

/** Warns when every user of the machine can read or change the file of a secret or key. */
export async function warnOfSecretFile(
  path: string,
  place: Place,
  issues: ConfigIssues,
): Promise<void> {
  await warnOfOtherUsers({ path, what: 'the secret file' }, place, issues);
}

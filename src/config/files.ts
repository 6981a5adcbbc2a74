import { createHash } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { messageOf } from '../format.ts';

/** Far above any configuration, certificate or secret. */
const MAX_BYTES = 1024 * 1024;

/**
 * The bytes of a regular file of at most 1 MiB. Never waits for a writer: rejects at once where a named pipe, device,
 * socket or directory is, with the reason in words.
 */
async function readSmallFile(path: string): Promise<Buffer> {
  // Opening alone can have effects, on a device or on who waits at the other end of a pipe.
  requireRegularFile(await stat(path));
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  requireRegularFile(await file.stat());
  // Does not trust the size: a file may grow meanwhile, and some of the system have size 0.
  const content = await buffer(file.createReadStream({ end: MAX_BYTES }));
  if (content.length <= MAX_BYTES) return content;
  throw new Error('it is larger than 1 MiB: is it the right file?');
}

/** The text of such a file, in UTF-8. Rejects with `cannot read`, what it is, and the reason. */
export async function readTextFile(path: string, what: string): Promise<string> {
  return readSmallFile(path).then(String, (cause: unknown) => {
    throw new Error(`cannot read ${what}: ${explainFileError(cause)}`, { cause });
  });
}

function requireRegularFile(found: Stats): void {
  if (found.isFile()) return;
  if (found.isDirectory()) throw new Error('it is a directory');
  const type = found.isFIFO() ? 'named pipe' : found.isSocket() ? 'socket' : 'device';
  throw new Error(`it is a ${type}: name a regular file`);
}

/** A file error in words, without the path; `missing` is what ENOENT means. */
export function explainFileError(error: unknown, missing = 'file'): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOENT' || code === 'ENOTDIR') return `there is no such ${missing}`;
  if (code === 'ENOSPC') return 'no space left on the device';
  if (code === 'EACCES' || code === 'EPERM') return 'permission denied';
  if (code === 'EISDIR') return 'it is a directory';
  return messageOf(error);
}

/** Actions that every user of the machine can do with a file, by the bits of its mode. */
const OTHERS: ReadonlyMap<number, readonly [verbs: string, bits: string]> = new Map([
  [0o002, ['change', 'w']],
  [0o004, ['read', 'r']],
  [0o006, ['read and change', 'rw']],
]);

/** Warns when every user of the machine can change a file, or read one with a secret. */
export async function warnOfOtherUsers(
  path: string,
  what: string,
  isSecret: boolean,
  warn: (message: string) => void,
): Promise<void> {
  // A file that has gone meanwhile is reported by the one that reads it.
  const { mode } = await stat(path).catch(() => ({ mode: 0 }));
  const found = OTHERS.get(mode & (isSecret ? 0o006 : 0o002));
  if (found === undefined) return;
  const [verbs, bits] = found;
  const octal = (mode & 0o7777).toString(8).padStart(4, '0');
  // Only these bits: the owner and the group may be those that the exporter reads it by.
  const remedy = `run \`chmod o-${bits} ${path}\``;
  warn(`${what} ${path} has mode ${octal}, so every user can ${verbs} it: ${remedy}`);
}

/** Files are small and few, and a renewed certificate is not urgent. */
export const FILE_CHECK_MS = 2_000;
/** A change must have stood for this share of the time between two checks. */
const SHARE_TO_SETTLE = 0.1;

interface FileWatchOptions<T> {
  /** Called for each check, since a new content may name other files. */
  readonly files: () => readonly string[];
  /** Time between two checks; the files are read only once when absent. */
  readonly everyMs: number | undefined;
  /** Reads the files; `previous` is absent the first time. Rejects when they cannot be used. */
  readonly read: (previous?: T) => Promise<T>;
  /** Called when files have changed and their new content is loaded. */
  readonly onChange?: (content: T) => void;
  /** Called when files have changed, their content is invalid, and the previous one is kept. */
  readonly onError?: (error: unknown) => void;
}

/** Why the content on disk is not loaded, and since when (wall clock). */
export interface LoadFailure {
  readonly error: unknown;
  readonly sinceMs: number;
}

/** The content of files, replaced when it changes. */
export interface FileWatch<T> extends Disposable {
  readonly current: () => T;
  /** Undefined when the content on disk is loaded. */
  readonly failure: () => LoadFailure | undefined;
  /** Reads the files now. Rejects when their content is invalid, and keeps the previous one. */
  readonly reload: () => Promise<void>;
  /** Adds a function that applies each new content. */
  readonly onReload: (listener: (content: T) => void) => void;
}

/**
 * Reads files and follows them. Compares their contents, not events of the file system: those miss what Kubernetes
 * does to mounted secrets and what happens on network drives. Rejects when the files cannot be used at the start.
 */
export async function watchFiles<T>(options: FileWatchOptions<T>): Promise<FileWatch<T>> {
  const { files, everyMs, read, onChange, onError } = options;
  const listeners: ((content: T) => void)[] = [];
  let digest = '';
  let current = await readNow();
  let failure: LoadFailure | undefined;
  let lastReload: Promise<unknown> = Promise.resolve();

  /** Reads again while a content names other files than were looked at, so that no change is missed. */
  async function readNow(previous?: T): Promise<T> {
    for (;;) {
      const named = files();
      digest = await digestFiles(named);
      const reading = read(previous);
      await reading.catch(() => undefined);
      if (isDeepStrictEqual(named, files())) return reading;
    }
  }

  async function readAgain(): Promise<void> {
    try {
      const content = await readNow(current);
      for (const listener of listeners) listener(content);
      current = content;
      failure = undefined;
    } catch (error) {
      failure = { error, sinceMs: failure?.sinceMs ?? Date.now() };
      throw error;
    }
  }

  /** One after the other, so that the latest content wins. */
  function reload(): Promise<void> {
    const reloaded = lastReload.then(readAgain);
    lastReload = reloaded.catch(() => undefined);
    return reloaded;
  }

  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  function schedule(delayMs: number): void {
    if (!isOver) timer = setTimeout(() => void check(delayMs), delayMs).unref();
  }

  async function check(delayMs: number): Promise<void> {
    if (await hasChanged(files, digest, delayMs * SHARE_TO_SETTLE)) {
      await reload().then(() => onChange?.(current), onError);
    }
    schedule(delayMs);
  }
  if (everyMs !== undefined && files().length > 0) schedule(everyMs);
  return {
    current: () => current,
    failure: () => failure,
    reload,
    onReload: (listener) => listeners.push(listener),
    [Symbol.dispose]() {
      isOver = true;
      clearTimeout(timer);
    },
  };
}

/** Waits until a change has ended: a file that is being written is empty or half there for a moment. */
async function hasChanged(
  files: () => readonly string[],
  before: string,
  settleMs: number,
): Promise<boolean> {
  let last = before;
  for (;;) {
    const digest = await digestFiles(files());
    if (digest === last) return digest !== before;
    last = digest;
    await sleep(settleMs, undefined, { ref: false });
  }
}

/** One text for the contents of all; a file that cannot be read counts by its error. */
async function digestFiles(files: readonly string[]): Promise<string> {
  const hash = createHash('sha256');
  for (const file of files) {
    const content = await readSmallFile(file).catch((error: unknown) => String(error));
    hash.update(`${file} ${content.length} `).update(content);
  }
  return hash.digest('hex');
}

import { isUtf8 } from 'node:buffer';
import { readFile, stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect, isDeepStrictEqual } from 'node:util';
import { crc32 } from 'node:zlib';
import { messageOf } from '#base';

/** Far above any configuration, certificate or secret. */
const MAX_BYTES = 1024 * 1024;

/** The bytes of a regular file of at most 1 MiB. Never opens a named pipe or a device, which could wait for a writer. */
async function readSmallFile(path: string): Promise<Buffer> {
  const found = await stat(path);
  if (found.isDirectory()) throw new Error('it is a directory');
  if (!found.isFile()) throw new Error('it is a pipe, socket or device: name a regular file');
  if (found.size > MAX_BYTES) throw new Error('it is larger than 1 MiB: is it the right file?');
  return readFile(path);
}

/** The text of such a file. Rejects with `cannot read`, what it is, and the reason: a password in another encoding would be another one. */
export async function readTextFile(path: string, what: string): Promise<string> {
  const bytes = await readBytes(path, what);
  if (isUtf8(bytes)) return String(bytes);
  throw new Error(`cannot read ${what}: it is not UTF-8 text: save it as UTF-8`);
}

/** The text of certificates or keys, which are ASCII; what is beside them may have any encoding. */
export async function readPemFile(path: string, what: string): Promise<string> {
  return String(await readBytes(path, what));
}

async function readBytes(path: string, what: string): Promise<Buffer> {
  return readSmallFile(path).catch((cause: unknown) => {
    throw new Error(`cannot read ${what}: ${explainFileError(cause)}`, { cause });
  });
}

/** A file error in words, without the path; `missing` is what ENOENT means. */
export function explainFileError(error: unknown, missing = 'file'): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOENT' || code === 'ENOTDIR') return `there is no such ${missing}`;
  if (code === 'ENOSPC') return 'no space left on the device';
  if (code === 'EACCES' || code === 'EPERM') return 'permission denied';
  if (code === 'EISDIR') return 'it is a directory';
  if (code === 'EEXIST') return 'a file of this name exists';
  return messageOf(error);
}

/** Whether every user of the machine can read a file. The group may be the one that the exporter reads it by. */
export async function canEveryoneRead(path: string): Promise<boolean> {
  // A file that has gone meanwhile is reported by the one that reads it.
  const { mode } = await stat(path).catch(() => ({ mode: 0 }));
  return (mode & 0o004) !== 0;
}

/** The variables of the process. */
export type Environment = Readonly<Record<string, string | undefined>>;

const MASK = '<secret>';

/** Where a secret comes from: a file or a variable that the configuration names, or neither. */
interface SecretSource {
  readonly file?: string | undefined;
  readonly variable?: string | undefined;
}

/**
 * A password or token that cannot be printed by accident: String(), JSON, template literals and
 * util.inspect all give `<secret>`. Only `reveal()` gives the text.
 */
export class Secret {
  /** Empty for a secret in a file. */
  readonly #text: string;
  readonly #source: SecretSource;

  constructor(text: string, source: SecretSource = {}) {
    this.#text = text;
    this.#source = source;
  }

  get file(): string | undefined {
    return this.#source.file;
  }

  get variable(): string | undefined {
    return this.#source.variable;
  }

  /** The text itself. A file is read every time, so that a new secret needs no reload. Rejects with what is wrong with it. */
  async reveal(): Promise<string> {
    const { file, variable } = this.#source;
    if (file === undefined && variable === undefined) return this.#text;
    const what =
      file === undefined ? `the environment variable "${variable}"` : `the secret file ${file}`;
    const text = file === undefined ? this.#text : withoutLineEnd(await readTextFile(file, what));
    const fault = (file ?? text) ? findSecretFault(text) : 'is not set';
    if (fault !== undefined) throw new Error(`${what} ${fault}`);
    return text;
  }

  /** Whether the configuration has the text itself. */
  get isText(): boolean {
    return this.#source.file === undefined && this.#source.variable === undefined;
  }

  /** True for the same text from any source, or the same file with any content: it is read every time. */
  isSameAs(other: Secret): boolean {
    return this.#text === other.#text && this.#source.file === other.#source.file;
  }

  toString(): string {
    return MASK;
  }

  toJSON(): string {
    return MASK;
  }

  [inspect.custom](): string {
    return MASK;
  }
}

/** A secret as it was meant: editors and `echo` end a text with a newline, and some begin it with a byte order mark. */
export function withoutLineEnd(text: string): string {
  return text.replace(/^\uFEFF/, '').replace(/[\r\n]+$/, '');
}

/** Returns the reason why a text cannot be sent as a password or token, or undefined. */
export function findSecretFault(text: string): string | undefined {
  if (text === '') return 'is empty';
  if (text.includes('\0')) return 'holds a NUL character: write it as UTF-8 text';
  return /[\r\n]/.test(text) ? 'holds more than one line of text' : undefined;
}

/** Returns the reason why a text cannot be sent as a token, which goes out in a header, or undefined. */
export function findTokenFault(text: string): string | undefined {
  if (/^[\x20-\x7e]*$/.test(text)) return undefined;
  return 'holds characters that no header can carry: copy it again, it is printable ASCII';
}

/** Files are small and few. A change is loaded by the second check after it. */
export const FILE_CHECK_MS = 1_000;

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

  const over = new AbortController();
  const { signal } = over;
  async function follow(): Promise<void> {
    let seen = digest;
    while (await sleep(everyMs, true, { ref: false, signal }).catch(() => false)) {
      const found = await digestFiles(files());
      // A file that is being written is half there: a change must have stood for one check.
      const isStable = found === seen;
      seen = found;
      if (found !== digest && isStable) await reload().then(() => onChange?.(current), onError);
    }
  }

  if (everyMs !== undefined && files().length > 0) void follow();
  return {
    current: () => current,
    failure: () => failure,
    reload,
    onReload: (listener) => listeners.push(listener),
    [Symbol.dispose]: () => over.abort(),
  };
}

/** One text for the contents of all; a file that cannot be read counts by its error. */
async function digestFiles(files: readonly string[]): Promise<string> {
  const digests: string[] = [];
  for (const file of files) {
    const content = await readSmallFile(file).catch((error: unknown) => String(error));
    digests.push(`${file} ${content.length} ${crc32(content)}`);
  }
  return digests.join('\n');
}

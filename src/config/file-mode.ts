import { stat } from 'node:fs/promises';
import type { Findings } from './findings.ts';
import type { Place } from './raw.ts';

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
  findings: Findings,
): Promise<void> {
  // A file that has gone meanwhile is reported by who reads it.
  const mode = await stat(path).then(
    (found) => found.mode,
    () => 0,
  );
  const canRead = !isReadable && (mode & OTHERS_READ) !== 0;
  const canWrite = (mode & OTHERS_WRITE) !== 0;
  const verbs = [...(canRead ? ['read'] : []), ...(canWrite ? ['change'] : [])].join(' and ');
  if (verbs === '') return;
  const octal = (mode & 0o7777).toString(8).padStart(4, '0');
  const message = `${what} ${path} has mode ${octal}, so every user can ${verbs} it`;
  findings.warn(place, `${message}: run \`chmod 600 ${path}\``);
}

import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { readSmallFile } from './files.ts';

/** Files are small and few; an operator who has renewed a certificate can wait so long. */
export const FILE_CHECK_MS = 2_000;
/** A change must have stood for this share of the time between two looks. */
const SHARE_TO_SETTLE = 0.1;

export interface FileWatch {
  /** Asked each time, since a new content may name other files. */
  readonly files: () => readonly string[];
  readonly everyMs: number;
  /**
   * Reads the files. Runs once at the start, after the first look, so that no change is missed, and
   * then whenever a content has changed, appeared or gone. Must not reject.
   */
  readonly load: () => Promise<void>;
}

/**
 * Looks at the contents of files, not at events of the file system: those miss what Kubernetes does
 * to mounted secrets and what happens on network drives. Resolves when they have been loaded.
 */
export async function watchFiles({ files, everyMs, load }: FileWatch): Promise<Disposable> {
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  let seen = await digestFiles(files());
  await load();

  /** A file that is being written is empty or half there for a moment. */
  async function untilSettled(digest: string): Promise<string> {
    await sleep(everyMs * SHARE_TO_SETTLE, undefined, { ref: false });
    const next = await digestFiles(files());
    return next === digest ? digest : untilSettled(next);
  }

  async function look(): Promise<void> {
    const digest = await digestFiles(files());
    if (digest !== seen) {
      seen = await untilSettled(digest);
      await load();
    }
    schedule();
  }

  function schedule(): void {
    if (!isOver) timer = setTimeout(() => void look(), everyMs).unref();
  }
  schedule();
  return {
    [Symbol.dispose]() {
      isOver = true;
      clearTimeout(timer);
    },
  };
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

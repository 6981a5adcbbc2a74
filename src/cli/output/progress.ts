import type { Ora } from 'ora';
import { formatCount } from '../../format.ts';

/** The text changes at most this often: setting it costs more than counting. */
const UPDATE_MS = 100;
const BAR_WIDTH = 20;

export interface Progress {
  /** Cheap enough for each element. */
  advance(count: number): void;
  /** The known part of the work, for the bar. */
  readonly step: (done: number, planned: number) => void;
  /** Removes the line. */
  stop(): void;
}

const NONE: Progress = { advance: () => undefined, step: () => undefined, stop: () => undefined };

/**
 * A line on the terminal during a long listing: bar, count and rate. Nothing where standard error is no terminal, or
 * where it would mix with data on the same one.
 */
export async function startProgress(what: string, format: string): Promise<Progress> {
  const isMixed = format !== 'table' && process.stdout.isTTY;
  const spinner = isMixed ? undefined : await startSpinner(what);
  if (spinner === undefined) return NONE;
  const startedAt = performance.now();
  let shownAt = startedAt;
  let count = 0;
  let bar = '';
  const show = (): void => {
    const now = performance.now();
    if (now - shownAt < UPDATE_MS) return;
    shownAt = now;
    const rate = Math.round(count / ((now - startedAt) / 1000));
    spinner.text = `${bar}${formatCount(count)} ${what}, ${formatCount(rate)}/s`;
  };
  return {
    advance(more) {
      count += more;
      show();
    },
    step(done, planned) {
      const full = Math.round((done / Math.max(1, planned)) * BAR_WIDTH);
      bar = `${'█'.repeat(full)}${'░'.repeat(BAR_WIDTH - full)} ${done}/${planned}  `;
      show();
    },
    stop: () => void spinner.stop(),
  };
}

/** A spinner on standard error whose text may be set; undefined where it is no terminal. */
export async function startSpinner(text: string): Promise<Ora | undefined> {
  if (!process.stderr.isTTY) return undefined;
  const { default: ora } = await import('ora');
  // Standard input stays untouched, so that Ctrl-C is a signal like any other.
  return ora({ text, discardStdin: false, stream: process.stderr }).start();
}

import type { Ora } from 'ora';
import { formatCount } from '../../format.ts';

/** The text changes at most this often: setting it costs more than counting. */
const UPDATE_MS = 100;
const BAR_WIDTH = 20;

/**
 * A line on the terminal during a long listing: bar, count and rate. Nothing where standard error is no terminal, or
 * where it would mix with data on the same one. `advance` is cheap enough for each element; `step` sets the known part
 * of the work, for the bar.
 */
export async function withProgress<Result>(
  what: string,
  format: string,
  work: (advance: () => void, step: (done: number, planned: number) => void) => Promise<Result>,
): Promise<Result> {
  const isMixed = format !== 'table' && process.stdout.isTTY;
  const spinner = isMixed ? undefined : await startSpinner(what);
  const startedAt = performance.now();
  let shownAt = startedAt;
  let count = 0;
  let bar = '';
  const show = (): void => {
    if (spinner === undefined) return;
    const now = performance.now();
    if (now - shownAt < UPDATE_MS) return;
    shownAt = now;
    const rate = Math.round(count / ((now - startedAt) / 1000));
    spinner.text = `${bar}${formatCount(count)} ${what}, ${formatCount(rate)}/s`;
  };
  const advance = (): void => {
    count += 1;
    show();
  };
  const step = (done: number, planned: number): void => {
    const full = Math.round((done / Math.max(1, planned)) * BAR_WIDTH);
    bar = `${'█'.repeat(full)}${'░'.repeat(BAR_WIDTH - full)} ${done}/${planned}  `;
    show();
  };
  try {
    return await work(advance, step);
  } finally {
    spinner?.stop();
  }
}

/** A spinner on standard error whose text may be set; undefined where it is no terminal. */
export async function startSpinner(text: string): Promise<Ora | undefined> {
  if (!process.stderr.isTTY) return undefined;
  const { default: ora } = await import('ora');
  // Standard input stays untouched, so that Ctrl-C is a signal like any other.
  return ora({ text, discardStdin: false, stream: process.stderr }).start();
}

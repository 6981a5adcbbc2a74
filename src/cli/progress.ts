import { writeCount } from './human.ts';

/** The text changes at most this often: setting it costs more than counting. */
const PAUSE_MS = 100;
const BAR_WIDTH = 20;

export interface Progress {
  /** Cheap enough for each element. */
  advance(count: number): void;
  /** How much of what is known beforehand is done, for the bar. */
  step(done: number, planned: number): void;
  /** Takes the line away. */
  stop(): void;
}

const NONE: Progress = { advance: () => undefined, step: () => undefined, stop: () => undefined };

/** A line on the terminal while something long is read: bar, count and rate. Nothing where standard error is no terminal. */
export async function startProgress(
  what: string,
  { isWanted }: { readonly isWanted: boolean },
): Promise<Progress> {
  if (!isWanted || !process.stderr.isTTY) return NONE;
  const { default: ora } = await import('ora');
  // Standard input stays alone, so that Ctrl-C is a signal like any other.
  const spinner = ora({ text: what, discardStdin: false, stream: process.stderr }).start();
  const startedAt = performance.now();
  let shownAt = startedAt;
  let count = 0;
  let bar = '';
  const show = (): void => {
    const now = performance.now();
    if (now - shownAt < PAUSE_MS) return;
    shownAt = now;
    const rate = Math.round(count / ((now - startedAt) / 1000));
    spinner.text = `${bar}${writeCount(count)} ${what}, ${writeCount(rate)}/s`;
  };
  return {
    advance(more) {
      count += more;
      show();
    },
    step(done, planned) {
      bar = `${drawBar(done / Math.max(1, planned))} ${done}/${planned}  `;
      show();
    },
    stop: () => void spinner.stop(),
  };
}

/** A line on the terminal with a text that changes by itself, such as the time that has passed. */
export async function startClock(text: () => string): Promise<{ stop(): void }> {
  if (!process.stderr.isTTY) return NONE;
  const { default: ora } = await import('ora');
  // Evaluated for each frame.
  const spinner = ora({ suffixText: text, discardStdin: false, stream: process.stderr }).start();
  return { stop: () => void spinner.stop() };
}

function drawBar(share: number): string {
  const full = Math.round(share * BAR_WIDTH);
  return '█'.repeat(full) + '░'.repeat(BAR_WIDTH - full);
}

interface Pauses {
  readonly firstMs: number;
  readonly longestMs: number;
}

/** An attempt costs milliseconds of CPU: the longer something takes, the less a little more matters. */
const SHARE = 1 / 8;

/** Comes round at once and then, for this long, after pauses of an eighth of the time that has passed. */
export async function* attempts(
  limitMs: number,
  { firstMs, longestMs }: Pauses,
): AsyncGenerator<undefined, void> {
  const startedMs = performance.now();
  for (let waitedMs = 0; waitedMs < limitMs; waitedMs = performance.now() - startedMs) {
    yield;
    const pauseMs = Math.min(Math.max(firstMs, SHARE * waitedMs), longestMs);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

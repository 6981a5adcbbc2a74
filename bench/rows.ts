/** One line of the table in docs/performance.md. */
export interface Row {
  readonly what: string;
  readonly must: string;
  readonly measured: string;
  /** The usual way, measured in the same run. */
  readonly alternative: string;
  readonly isMet: boolean;
}

/** Prints what a benchmark found, and hands it to `run.ts` when that started it. */
export function report(rows: readonly Row[]): void {
  for (const { what, must, measured, alternative, isMet } of rows) {
    console.log(`${isMet ? 'met    ' : 'NOT MET'} ${what}`);
    console.log(`        must ${must}; measured ${measured}; against ${alternative}`);
  }
  process.send?.(rows);
}

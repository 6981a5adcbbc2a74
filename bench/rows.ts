/** One line of the table in bench/README.md. */
export interface Row {
  readonly name: string;
  readonly target: string;
  readonly result: string;
  /** The usual implementation, measured in the same run. */
  readonly baseline: string;
  readonly isMet: boolean;
}

/** Prints the results of a benchmark, and sends them to `run.ts` if that started it. */
export function report(rows: readonly Row[]): void {
  for (const { name, target, result, baseline, isMet } of rows) {
    console.log(`${isMet ? 'met    ' : 'NOT MET'} ${name}`);
    console.log(`        target ${target}; result ${result}; baseline ${baseline}`);
  }
  process.send?.(rows);
}

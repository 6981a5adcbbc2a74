/** The sum of all values; 0 without any. */
export function sum(values: readonly number[]): number {
  return values.reduce((all, value) => all + value, 0);
}

/** The sum of all values; 0 without any. */
export function sum(values: readonly number[]): number {
  return values.reduce((all, value) => all + value, 0);
}

/** The smallest of all values; undefined without any. */
export function smallest(values: readonly number[]): number | undefined {
  return values.length === 0 ? undefined : Math.min(...values);
}

/** The largest of all values; undefined without any. */
export function largest(values: readonly number[]): number | undefined {
  return values.length === 0 ? undefined : Math.max(...values);
}

/** The sum of all values; undefined without any. */
export function sumOrNone(values: readonly number[]): number | undefined {
  return values.length === 0 ? undefined : sum(values);
}

/** The middle of these values, or the mean of the two in the middle; undefined without any. */
export function median(values: readonly number[]): number | undefined {
  const ascending = values.toSorted((a, b) => a - b);
  const half = ascending.length / 2;
  const [low, high] = [ascending[Math.ceil(half) - 1], ascending[Math.floor(half)]];
  return low === undefined || high === undefined ? undefined : (low + high) / 2;
}

/** The share of the whole; undefined where one of both is not known, or the whole is 0. */
export function ratio(value: number | undefined, whole: number | undefined): number | undefined {
  return value === undefined || whole === undefined || !(whole > 0) ? undefined : value / whole;
}

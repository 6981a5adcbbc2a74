/** The middle of these values, or the mean of the two in the middle; undefined without any. */
export function median(values: readonly number[]): number | undefined {
  const ascending = values.toSorted((a, b) => a - b);
  const half = ascending.length / 2;
  const [low, high] = [ascending[Math.ceil(half) - 1], ascending[Math.floor(half)]];
  return low === undefined || high === undefined ? undefined : (low + high) / 2;
}

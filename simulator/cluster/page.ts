/** One page of a list, and the offset of the next unless this is the last. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly next: number | undefined;
}

/** limit and offset as on the server: an invalid limit means everything and no offset, an invalid offset 0. */
export function slicePage<T>(items: readonly T[], query: URLSearchParams): Page<T> {
  const limit = goInteger(query.get('limit'));
  if (limit === undefined || limit <= 0) return { items, next: undefined };
  const offset = Math.min(Math.max(goInteger(query.get('offset')) ?? 0, 0), items.length);
  const end = Math.min(offset + limit, items.length);
  return { items: items.slice(offset, end), next: end === items.length ? undefined : end };
}

/** What Go's Atoi accepts: an optional sign and decimal digits within 64 bits. */
export function goInteger(text: string | null): number | undefined {
  if (text === null || !/^[+-]?\d{1,18}$/.test(text)) return undefined;
  return Number(text);
}

/** A list and `next`, element by element. */
export function* listBody(
  name: string,
  elements: readonly (() => string)[],
  next: number | undefined,
  empty: string,
): Generator<string> {
  yield `{"${name}":`;
  if (elements.length === 0) yield empty;
  let separator = '[';
  for (const element of elements) {
    yield separator;
    yield element();
    separator = ',';
  }
  if (elements.length > 0) yield ']';
  yield next === undefined ? '}' : `,"next":${next}}`;
}

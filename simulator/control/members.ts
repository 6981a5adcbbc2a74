/** The body is not as required; becomes a 400. */
export class ControlError extends Error {
  override readonly name = 'ControlError';
}

export type Members = ReadonlyMap<string, unknown>;

/** The members of a JSON object; an empty text is an empty object. */
export function parseMembers(text: string): Members {
  const value: unknown = text.trim() === '' ? {} : parseJson(text);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return new Map(Object.entries(value));
  }
  throw new ControlError('the body is not a JSON object');
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ControlError('the body is not JSON', { cause });
  }
}

export function integerMember(members: Members, name: string): number {
  const value = members.get(name);
  if (typeof value === 'number' && Number.isInteger(value)) return value;
  throw new ControlError(`${name}: ${JSON.stringify(value)} is not an integer`);
}

export function numberMember(members: Members, name: string): number | undefined {
  const value = members.get(name);
  if (value === undefined || typeof value === 'number') return value;
  throw new ControlError(`${name}: ${JSON.stringify(value)} is not a number`);
}

export function textMember(members: Members, name: string): string | undefined {
  const value = members.get(name);
  if (value === undefined || typeof value === 'string') return value;
  throw new ControlError(`${name}: ${JSON.stringify(value)} is not a string`);
}

export function integersMember(members: Members, name: string): number[] {
  const value = members.get(name);
  const list: unknown[] = Array.isArray(value) ? value : [];
  const integers = list.filter((item) => typeof item === 'number');
  if (integers.length > 0 && integers.length === list.length) return integers;
  throw new ControlError(`${name}: ${JSON.stringify(value)} is not a list of integers`);
}

/** One of the allowed texts. */
export function choiceMember<T extends string>(
  members: Members,
  name: string,
  allowed: readonly T[],
): T | undefined {
  const value = members.get(name);
  if (value === undefined) return undefined;
  const found = allowed.find((each) => each === value);
  if (found !== undefined) return found;
  throw new ControlError(`${name}: ${JSON.stringify(value)} is not one of ${allowed.join(', ')}`);
}

/**
 * A shape declares which fields of a document are wanted. What it does not name is skipped as bytes.
 *
 * | | absent or null | wrong kind (always counted) |
 * |---|---|---|
 * | integer, number | 0 | undefined |
 * | string, bytes | '' | undefined |
 * | boolean | false | undefined |
 * | flags | 0 | undefined |
 * | time, raw | undefined (raw: null stays null) | undefined |
 * | optional, last | undefined | undefined |
 * | object | every field absent | every field as if of the wrong kind |
 * | array, selected, record | empty | empty |
 *
 * Inside an array or a map, an item of the wrong kind is left out.
 */

/** A shape as the decoder sees it, without the type that it stands for. */
export type Plan =
  | {
      readonly kind: 'integer' | 'number' | 'string' | 'boolean' | 'time' | 'bytes' | 'raw';
    }
  | { readonly kind: 'flags'; readonly names: readonly string[] }
  | { readonly kind: 'object'; readonly fields: Fields }
  | { readonly kind: 'optional' | 'last' | 'array' | 'record'; readonly inner: Plan }
  | { readonly kind: 'selected'; readonly choice: Choice; readonly inner: Plan };

/** Which keys of a map are wanted: some by name, some by how they begin. */
export interface Choice {
  readonly keys: readonly string[];
  readonly prefixes: readonly string[];
}

/**
 * A plan and what comes of it: `Value` when the kind is right, absent or null; `Wrong` otherwise.
 * The member `~types` exists for the compiler only; as a symbol it could not be named in declarations.
 */
export type Shape<Value, Wrong = undefined> = Plan & {
  readonly '~types'?: readonly [value: Value, wrong: Wrong];
};

export type AnyShape = Shape<unknown, unknown>;

/** Named in the declarations of every shape that is exported. @public */
export interface Fields {
  readonly [name: string]: AnyShape;
}

type FieldTypes<F extends Fields> = { readonly [Name in keyof F]: Infer<F[Name]> };

/** The shape of an object; elements of a list and envelopes are such. */
export type ObjectShape<F extends Fields = Fields> = Shape<FieldTypes<F>, FieldTypes<F>> & {
  readonly kind: 'object';
  readonly fields: F;
};

/** The TypeScript type of what a shape reads. */
export type Infer<S extends AnyShape> =
  S extends Shape<infer Value, infer Wrong> ? Value | Wrong : never;

/** An integer of any spelling (`3`, `3.0`, `3e2`); above 2^53 the nearest double, as JSON.parse gives. */
export function integer(): Shape<number> {
  return { kind: 'integer' };
}

/** A finite number. */
export function number(): Shape<number> {
  return { kind: 'number' };
}

/** Text; bytes that are not UTF-8 are of the wrong kind, a lone surrogate escape is kept. */
export function string(): Shape<string> {
  return { kind: 'string' };
}

export function boolean(): Shape<boolean> {
  return { kind: 'boolean' };
}

/**
 * RFC 3339 time with up to 9 fraction digits -> milliseconds since the epoch. Go's zero time
 * (`0001-01-01T00:00:00Z`) means "none" and gives undefined.
 */
export function time(): Shape<number | undefined> {
  return { kind: 'time' };
}

/** Bytes, as a padded base64 string or as an array of integers 0..255 -> lower-case hexadecimal. */
export function bytes(): Shape<string> {
  return { kind: 'bytes' };
}

/**
 * An object of booleans -> a bit mask: bit i for `names[i]`, bit `names.length` when any other
 * member is true.
 */
export function flags(names: readonly string[]): Shape<number> {
  if (names.length > 30) throw new RangeError(`flags: ${names.length} names do not fit 31 bits`);
  return { kind: 'flags', names };
}

export function object<F extends Fields>(fields: F): ObjectShape<F> {
  return { kind: 'object', fields };
}

/** The same, but undefined instead of a zero value when absent or null. */
export function optional<Value>(inner: Shape<Value, unknown>): Shape<Value | undefined> {
  return { kind: 'optional', inner };
}

/** The last element of an array; undefined when there is none. The others are not looked into. */
export function last<Value>(inner: Shape<Value, unknown>): Shape<Value | undefined> {
  return { kind: 'last', inner };
}

export function array<Value>(
  inner: Shape<Value, unknown>,
): Shape<readonly Value[], readonly Value[]> {
  return { kind: 'array', inner };
}

/** The chosen keys of a map. */
export function selected<Value>(
  choice: Choice,
  inner: Shape<Value, unknown>,
): Shape<ReadonlyMap<string, Value>, ReadonlyMap<string, Value>> {
  return { kind: 'selected', choice, inner };
}

/** Every key of a map. */
export function record<Value>(
  inner: Shape<Value, unknown>,
): Shape<ReadonlyMap<string, Value>, ReadonlyMap<string, Value>> {
  return { kind: 'record', inner };
}

/** A sub-document as JSON.parse gives it. */
export function raw(): Shape<unknown> {
  return { kind: 'raw' };
}

/** States that `value` was read with `shape`: the one place where plans and types meet. */
export function typed<S extends AnyShape>(shape: S, value: unknown): Infer<S>;
export function typed(_shape: AnyShape, value: unknown): unknown {
  return value;
}

import type { Findings } from './findings.ts';
import { show } from './raw.ts';
import type { Raw, RawScalar } from './raw.ts';

export type JsonSchema = Readonly<Record<string, unknown>>;

/** What a value may look like: how it is read, written and described. */
export interface Kind<T> {
  /** One word for `--help`: `<duration>`. */
  readonly name: string;
  /** Takes the place of a value that could not be read. Never seen: such a load ends in an error. */
  readonly standIn: T;
  readonly schema: JsonSchema;
  /** The value; what is wrong with it is reported, at its place. */
  parse(raw: Raw, findings: Findings): T;
  /** The value as it is written in the file. */
  write(value: T): unknown;
}

/** Why a value is not accepted, as the end of a sentence that begins with the value. */
export class Refusal {
  readonly reason: string;

  constructor(reason: string) {
    this.reason = reason;
  }
}

interface ScalarKind<T> {
  readonly name: string;
  readonly standIn: T;
  readonly schema: JsonSchema;
  readonly accept: (scalar: RawScalar) => T | Refusal;
  /** How the value looks in a message; the default shows it as it is. */
  readonly show?: (raw: Raw) => string;
  readonly write?: (value: T) => unknown;
}

/** A kind whose values are single words, numbers or texts. */
export function scalarKind<T>(definition: ScalarKind<T>): Kind<T> {
  const { name, standIn, schema, accept } = definition;
  const showValue = definition.show ?? show;
  return {
    name,
    standIn,
    schema,
    write: definition.write ?? ((value) => value),
    parse(raw, findings) {
      const value =
        raw.form === 'scalar' ? acceptSome(raw, accept) : new Refusal('is not one value');
      if (!(value instanceof Refusal)) return value;
      findings.report(raw.place, `${showValue(raw)} ${value.reason}`);
      return standIn;
    },
  };
}

function acceptSome<T>(scalar: RawScalar, accept: (scalar: RawScalar) => T | Refusal): T | Refusal {
  if (scalar.value !== null) return accept(scalar);
  return new Refusal('is set: give the key a value or remove it');
}

/** Several values of one kind. A single value is refused: `urls: x` beside `urls: [x]` helps nobody. */
export function listOf<T>(
  item: Kind<T>,
  { mayBeEmpty }: { readonly mayBeEmpty: boolean },
): Kind<readonly T[]> {
  return {
    name: item.name,
    standIn: [],
    schema: { type: 'array', ...(!mayBeEmpty && { minItems: 1 }), items: item.schema },
    write: (values) => values.map((value) => item.write(value)),
    parse(raw, findings) {
      if (raw.form !== 'list') {
        findings.report(raw.place, `${show(raw)} is not a list: write it as [value, value]`);
        return [];
      }
      if (raw.items.length === 0 && !mayBeEmpty) {
        findings.report(raw.place, 'the list is empty: give it one value at least');
      }
      return raw.items.map((one) => item.parse(one, findings));
    },
  };
}

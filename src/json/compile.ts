import { bytesReader } from './bytes-reader.ts';
import { arrayReader, lastReader, recordReader, selectedReader } from './collection-readers.ts';
import { flagsReader } from './flags-reader.ts';
import { ObjectReader } from './object-reader.ts';
import { optionalReader, type Reader } from './reader.ts';
import {
  booleanReader,
  integerReader,
  numberReader,
  rawReader,
  stringReader,
  timeReader,
} from './scalar-readers.ts';
import type { Plan } from './shape.ts';

const SCALARS = {
  integer: integerReader,
  number: numberReader,
  boolean: booleanReader,
  time: timeReader,
  bytes: bytesReader,
  raw: rawReader,
};

/**
 * Makes the reader of a shape. Readers remember things between values, so each decoder has its own,
 * and so has each place of a shape.
 *
 * @param isKept whether what is read must stay as it is when the next value is read: then objects
 *   are made anew each time instead of being filled again
 */
export function compile(plan: Plan, isKept: boolean): Reader {
  switch (plan.kind) {
    case 'string':
      return stringReader();
    case 'flags':
      return flagsReader(plan.names);
    case 'object':
      return new ObjectReader(compileFields(plan.fields, isKept), isKept);
    case 'optional':
      return optionalReader(compile(plan.inner, isKept));
    case 'last':
      return lastReader(compile(plan.inner, isKept));
    case 'array':
      return arrayReader(compile(plan.inner, true));
    case 'record':
      return recordReader(compile(plan.inner, true));
    case 'selected':
      return selectedReader(plan.choice, compile(plan.inner, true));
    default:
      return SCALARS[plan.kind];
  }
}

/** The readers of an object's fields, or of an envelope's members, by name. */
export function compileFields(
  fields: Readonly<Record<string, Plan>>,
  isKept: boolean,
): ReadonlyMap<string, Reader> {
  return new Map(Object.entries(fields).map(([name, plan]) => [name, compile(plan, isKept)]));
}

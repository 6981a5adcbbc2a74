// The only door of this folder; README.md says what is behind it.
export { canScan } from './compiled-scanner.ts';
export { decodeValue } from './decoder.ts';
export { JsonEndError, JsonError, JsonLimitError } from './json-error.ts';
export { PageParser } from './page-parser.ts';
export { type RecordBatch, slotOf, slotsOf } from './record-batch.ts';
export {
  type AnyShape,
  array,
  boolean,
  flags,
  hashed,
  type Infer,
  integer,
  type SelectedKeys,
  last,
  nameText,
  number,
  object,
  type ObjectShape,
  optional,
  parsed,
  raw,
  record,
  selected,
  type Shape,
  string,
  type TextParser,
  time,
  typed,
} from './shape.ts';

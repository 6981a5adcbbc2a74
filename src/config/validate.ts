import * as v from 'valibot';
import { findNearest } from '#base';
import type { Path, SourceDocument } from './document.ts';
import { type Container, isContainer, quote } from './issues.ts';
import { type AnySchema, formatKeys, makeAbsolute, unwrap } from './values.ts';

/**
 * Validates a document by a schema, and reports what is wrong with it at its position. Returns the values with defaults, or
 * undefined where problems were reported.
 */
export function validate<S extends v.GenericSchema>(
  schema: S,
  document: SourceDocument,
): v.InferOutput<S> | undefined {
  const { input, issues } = document;
  prepareInput(schema, input, document, []);
  if (issues.isFull) return undefined;
  const result = v.safeParse(schema, input, { abortPipeEarly: true });
  for (const { path: items = [], message } of result.issues ?? []) {
    const path = items.map(({ key }) => (typeof key === 'number' ? key : String(key)));
    // A key that is missing is reported at the map around it.
    const isMissing = items.at(-1)?.origin === 'key';
    issues.report(document.positionOf(isMissing ? path.slice(0, -1) : path), message);
  }
  return result.success && issues.problems.length === 0 ? result.output : undefined;
}

/** The output of the schema for a part of a document that `validate` has refused as a whole; undefined where it refuses the part, too. */
export function accept<S extends v.GenericSchema>(
  schema: S,
  part: unknown,
  document: SourceDocument,
): v.InferOutput<S> | undefined {
  if (document.isMisspelt(part)) return undefined;
  const result = v.safeParse(schema, part, { abortEarly: true });
  return result.success ? result.output : undefined;
}

function explainUnknownKey(name: string, known: readonly string[]): string {
  const nearest = findNearest(name, known);
  const remedy = nearest ? `did you mean ${quote(nearest)}?` : `expected ${formatKeys(known)}`;
  return `unknown key ${quote(name)}; ${remedy}`;
}

/**
 * Makes paths absolute. Reports and removes keys that the schema does not have: valibot would stop at the first one of a map.
 */
function prepareInput(
  { entries, item }: AnySchema,
  container: Container,
  document: SourceDocument,
  path: Path,
): void {
  for (const [name, value] of Object.entries(container)) {
    if (document.issues.isFull) return;
    const memberPath = [...path, Array.isArray(container) ? Number(name) : name];
    const member = entries && Object.hasOwn(entries, name) ? entries[name] : item;
    if (member !== undefined) {
      const inner = unwrap(member);
      // valibot takes an empty list for a map without keys, but reports one with a member.
      if (Array.isArray(value) && value.length === 0 && inner.entries) container[name] = [null];
      // It takes any list for a map whose keys are numbers.
      else if (Array.isArray(value) && inner.type === 'record') container[name] = null;
      else if (isContainer(value)) prepareInput(inner, value, document, memberPath);
      else if (typeof value === 'string') {
        const { valueType } = v.getMetadata(inner);
        container[name] = makeAbsolute(valueType, value, document.folder);
      }
    } else if (entries !== undefined && !Array.isArray(container)) {
      const message = explainUnknownKey(name, Object.keys(entries));
      document.issues.report(document.positionOf(memberPath, 'key'), message);
      document.removeUnknown(container, name);
    }
  }
}

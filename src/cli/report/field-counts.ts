import { isKnownName } from './known-words.ts';

/** How often a field had values of a type. */
type TypeCounts = Partial<
  Record<'number' | 'text' | 'boolean' | 'object' | 'list' | 'null', number>
>;

/** Members that are maps: their keys are ids or names, or one of thousands of metrics. */
const MAPS: ReadonlySet<string> = new Set([
  'metrics',
  'store_metrics',
  'connections',
  'peers',
  'errorsByNodeId',
  'rows',
]);

/** The last word of numbers that stand for words. */
const ENUMERATION =
  /(?:[._](?:status|state|type|level|kind|phase|membership)|[a-z](?:Status|State|Type|Level|Kind|Phase))$/;
/** Texts that the server chooses from a list of its own. */
const TEXT_ENUMERATION = /^jobs\[\]\.(?:status|type)$/;
/** Larger numbers are none. */
const MAX_ENUMERATION = 63;
/** Deeper values are not looked at. */
const MAX_DEPTH = 24;
/** More fields come from maps that this does not know. */
const MAX_FIELDS = 1_000;

/** Counts the fields of documents of one kind, by their paths: `nodes[].attrs.attrs[]`. No value is kept, but enumerations. */
export class FieldCounts {
  readonly fields = new Map<string, TypeCounts>();
  /** Counts of the values that are enumerations, by path. */
  readonly enumerations = new Map<string, Map<string, number>>();

  /** Counts the fields of a parsed document. */
  add(value: unknown, path = '', depth = 0): void {
    const type = typeOf(value);
    if (path !== '') this.#count(path, type);
    if (type === 'number' && ENUMERATION.test(path)) this.#countEnumeration(path, value);
    if (typeof value === 'string' && TEXT_ENUMERATION.test(path)) {
      this.#increaseEnumeration(path, isKnownName(value) ? value : 'other');
    }
    if (depth > MAX_DEPTH || typeof value !== 'object' || value === null) return;
    if (Array.isArray(value)) {
      for (const item of value) this.add(item, `${path}[]`, depth + 1);
      return;
    }
    const parent = /([^.[\]]+)(?:\[\])*$/.exec(path)?.[1] ?? '';
    // A map of maps of metrics.
    const isMap = MAPS.has(parent) || /(?:^|\.)store_metrics\.\*$/.test(path);
    for (const [name, member] of Object.entries(value)) {
      const shown = !isMap && isKnownName(name) ? name : '*';
      this.add(member, path === '' ? shown : `${path}.${shown}`, depth + 1);
    }
  }

  #count(path: string, type: keyof TypeCounts): void {
    const known = this.fields.get(path);
    if (known === undefined && this.fields.size >= MAX_FIELDS) return;
    const counts = known ?? {};
    counts[type] = (counts[type] ?? 0) + 1;
    this.fields.set(path, counts);
  }

  #countEnumeration(path: string, value: unknown): void {
    const isSmall = typeof value === 'number' && Number.isInteger(value) && value >= 0;
    const name = isSmall && value <= MAX_ENUMERATION ? String(value) : 'other';
    this.#increaseEnumeration(path, name);
  }

  #increaseEnumeration(path: string, name: string): void {
    const counts = this.enumerations.get(path) ?? new Map<string, number>();
    counts.set(name, (counts.get(name) ?? 0) + 1);
    this.enumerations.set(path, counts);
  }
}

function typeOf(value: unknown): keyof TypeCounts {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'list';
  if (typeof value === 'number') return 'number';
  if (typeof value === 'boolean') return 'boolean';
  return typeof value === 'string' ? 'text' : 'object';
}

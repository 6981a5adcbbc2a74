import { sum } from '#base';
import type { Family, FamilyList, FamilySamples } from './family.ts';
import { labelText, labelWriter } from './label-text.ts';

type LabelValues<L extends string> = Readonly<Record<L, string>>;

/** A list that is too long for a series budget keeps this many entries. */
const FIRST_ENTRIES = 5;

interface Entry extends FamilySamples {
  readonly samples: Map<string, number>;
  readonly first: Set<string> | undefined;
  readonly labelText: (labels: LabelValues<string>) => string;
}

/** The state as a state set shows it: `other` where it is none of the known ones. */
export function knownState(known: readonly string[], state: string): string {
  return known.includes(state) ? state : 'other';
}

/** The samples of one poll. Written once, then rendered; a label set can be in it only once. */
export class SampleSet {
  /** Label text that every sample begins with. */
  readonly constantLabels: string;
  readonly #families = new Map<string, Entry>();
  readonly #duplicates = new Map<string, number>();
  /** The names of the first entries of each list, and of each value of `per`. */
  readonly #firstEntries = new Map<string, Set<string>>();
  /** How many samples were merged into another one, by family name. */
  readonly duplicates: ReadonlyMap<string, number> = this.#duplicates;

  /** `{ crdb_cluster: name }` for all that belongs to a cluster, `{}` for what belongs to the process. */
  constructor(constantLabels: { readonly crdb_cluster?: string }) {
    this.constantLabels = labelText(constantLabels);
  }

  /**
   * Writes one sample. Undefined and NaN mean that the server sent no value: nothing is written. A label set that
   * is there already is merged by the family's rule and counted as a duplicate.
   */
  set<L extends string>(
    family: Family<L>,
    labels: LabelValues<NoInfer<L>>,
    value: number | undefined,
  ): void {
    if (value !== undefined && !Number.isNaN(value)) {
      this.#put(this.#entryOf(family), labels, value);
    }
  }

  /** Writes the constant 1 of an info family. */
  info<L extends string>(family: Family<L>, labels: LabelValues<NoInfer<L>>): void {
    this.set(family, labels, 1);
  }

  /**
   * Writes a state set: one series per known state, 1 for the current one. A current state that is not known
   * counts as `other` where the family has that state; undefined makes all of them 0.
   */
  states<L extends string, S extends L>(
    family: Family<L>,
    labels: LabelValues<Exclude<L, S>>,
    stateLabel: S,
    known: readonly string[],
    current: string | undefined,
  ): void {
    const entry = this.#entryOf(family);
    const shown = current === undefined ? undefined : knownState(known, current);
    for (const state of known) {
      this.#put(entry, { ...labels, [stateLabel]: state }, state === shown ? 1 : 0);
    }
  }

  get series(): number {
    return sum(Array.from(this.#families.values(), ({ samples }) => samples.size));
  }

  /** The families in the order of their first sample. */
  families(): Iterable<FamilySamples> {
    return this.#families.values();
  }

  #put(entry: Entry, labels: LabelValues<string>, value: number): void {
    const { family, samples } = entry;
    const { list } = family;
    const key = entry.labelText(labels);
    const before = samples.get(key);
    if (before === undefined) {
      samples.set(key, value);
      if (list !== undefined && this.#isOfFirst(list, labels)) entry.first?.add(key);
      return;
    }
    samples.set(key, family.merge === 'sum' ? before + value : value);
    this.#duplicates.set(family.name, (this.#duplicates.get(family.name) ?? 0) + 1);
  }

  /**
   * Whether labels name one of the first entries of a list. With `per`, each value of that label has a list of its own, and a
   * family without that label has the first entries of all of them. Example: a range is the 2nd unavailable one and the 7th
   * without a lease. Its series of the first problem is of the first five, its series of the second is not, and the one that names
   * its node, for both problems, is.
   */
  #isOfFirst({ name, entry, per }: FamilyList, labels: LabelValues<string>): boolean {
    const text = entry.map((label) => labels[label]).join('\n');
    const ofList = this.#firstOf(name);
    const first = per === undefined ? ofList : this.#firstOf(`${name}\n${labels[per]}`);
    if (first.size < FIRST_ENTRIES) first.add(text);
    if (!first.has(text)) return false;
    ofList.add(text);
    return true;
  }

  #firstOf(list: string): Set<string> {
    const first = this.#firstEntries.get(list) ?? new Set();
    this.#firstEntries.set(list, first);
    return first;
  }

  #entryOf(family: Family): Entry {
    const known = this.#families.get(family.name);
    if (known === undefined) {
      const first = family.list && new Set<string>();
      const entry = { family, samples: new Map(), first, labelText: labelWriter(family.labels) };
      this.#families.set(family.name, entry);
      return entry;
    }
    if (known.family !== family) {
      throw new Error(`family ${family.name} has two definitions; share one`);
    }
    return known;
  }
}

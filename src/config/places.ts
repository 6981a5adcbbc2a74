import type { Place } from './issues.ts';

/** A map or a list as it was written: plain values, not validated yet. */
export type Container = Record<string, unknown>;

interface Member {
  readonly key: Place;
  readonly value: Place;
}

/** Where the maps and lists of a document, their keys and their values are written. */
export class Places {
  readonly #self = new WeakMap<object, Place>();
  readonly #members = new WeakMap<object, Map<string, Member>>();

  add(container: object, place: Place): void {
    this.#self.set(container, place);
    this.#members.set(container, new Map());
  }

  addMember(container: object, key: string, member: Member): void {
    this.#members.get(container)?.set(key, member);
  }

  /** Where a map or list begins. */
  of(container: object): Place {
    return this.#self.get(container) ?? { source: '', path: '' };
  }

  ofKey(container: object, key: string): Place {
    return this.#members.get(container)?.get(key)?.key ?? this.of(container);
  }

  /** Where a value is written, or the container in which it is missing. */
  ofValue(container: object, key: string): Place {
    const place = this.#members.get(container)?.get(key)?.value;
    if (place !== undefined) return place;
    const self = this.of(container);
    return { ...self, path: joinPath(self.path, key, Array.isArray(container)) };
  }

  /** A map of the keys of both, those of `over` winning, each with its own place. */
  merge(base: Container, over: Container): Container {
    const merged: Container = Object.assign(createMap(), base, over);
    this.add(merged, this.#self.get(over) ?? this.of(base));
    for (const container of [base, over]) {
      for (const [key, member] of this.#members.get(container) ?? []) {
        this.addMember(merged, key, member);
      }
    }
    return merged;
  }
}

/** A document as plain values, with the places of all of them. */
export interface SourceDocument {
  readonly input: Container;
  readonly places: Places;
}

/** Sets a value at a key such as `clusters[].name`, making the maps and lists around it. */
export function setValue(
  { input, places }: SourceDocument,
  key: string,
  { value, source }: { readonly value: unknown; readonly source: string },
): void {
  const steps = key.replaceAll('[]', '.0').split('.');
  let container = input;
  let path = '';
  for (const [index, step] of steps.entries()) {
    path = joinPath(path, step, Array.isArray(container));
    const place = { source, path };
    const isLast = index === steps.length - 1;
    const old = container[step];
    if (!isLast && old !== undefined && old !== null) {
      // Something that is no map stays, and is reported when it is validated.
      if (!isContainer(old)) return;
      container = old;
      continue;
    }
    const next = isLast ? value : createContainer(steps[index + 1] === '0');
    container[step] = next;
    places.addMember(container, step, { key: place, value: place });
    if (!isContainer(next)) return;
    places.add(next, place);
    container = next;
  }
}

/** Without a prototype, so that a key `__proto__` is a key like any other. */
export function createMap(): Container {
  return Object.create(null);
}

function createContainer(isList: boolean): unknown {
  return isList ? [] : createMap();
}

export function isContainer(value: unknown): value is Container {
  return typeof value === 'object' && value !== null;
}

export function isMap(value: unknown): value is Container {
  return isContainer(value) && !Array.isArray(value);
}

/** The dotted key of a member: `clusters[0]` and `name` make `clusters[0].name`. */
export function joinPath(path: string, key: string, isInList = false): string {
  if (isInList) return `${path}[${key}]`;
  return path === '' ? key : `${path}.${key}`;
}

/** Servers name nodes and tables; what they invent must not fill the memory. */
const MAX_NAMES = 10_000;

/** One value for each name, made when it is first asked for; the oldest go when there are too many. */
export class ByName<T> {
  readonly #make: () => T;
  readonly #values = new Map<string, T>();

  constructor(make: () => T) {
    this.#make = make;
  }

  get(name: string): T {
    const known = this.#values.get(name);
    if (known !== undefined) return known;
    const [oldest] = this.#values.size < MAX_NAMES ? [] : this.#values.keys();
    if (oldest !== undefined) this.#values.delete(oldest);
    const value = this.#make();
    this.#values.set(name, value);
    return value;
  }

  /** The value if there is one already. */
  peek(name: string): T | undefined {
    return this.#values.get(name);
  }

  clear(): void {
    this.#values.clear();
  }
}

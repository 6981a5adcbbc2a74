/** Servers name nodes and tables; invented names must not fill the memory. */
const MAX_NAMES = 10_000;

/** A map that drops its oldest entries when there are too many. */
export class BoundedMap<K, V> extends Map<K, V> {
  override set(key: K, value: V): this {
    const [oldest] = this.size < MAX_NAMES || this.has(key) ? [] : this.keys();
    if (oldest !== undefined) this.delete(oldest);
    return super.set(key, value);
  }

  getOrAdd(key: K, create: () => V): V {
    const value = this.get(key) ?? create();
    if (!this.has(key)) this.set(key, value);
    return value;
  }
}

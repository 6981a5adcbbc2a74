import type { ClusterSource } from './source.ts';
import { readVersion, type StatusSource } from './status.ts';

/** What is rendered under this key, shared by all answers; rendered once per state of the clusters. */
export type RenderCache<T = Buffer> = (key: string, render: () => T) => T;

/** Clients choose keys: the oldest are forgotten beyond this. */
const MOST_ENTRIES = 20;

/** A state lasts until a poll begins or ends or a cluster is replaced, but no longer than a second, since pages show ages. */
export function createRenderCache<T = Buffer>(source: StatusSource): RenderCache<T> {
  const rendered = new Map<string, T>();
  let state = '';
  let clusters: readonly ClusterSource[] = [];

  function forgetOldState(): void {
    const current = `${readVersion(source)} ${Math.floor(source.wallMs() / 1000)}`;
    const now = source.clusters();
    const isSame = now.length === clusters.length && now.every((one, at) => one === clusters[at]);
    if (current !== state || !isSame) rendered.clear();
    state = current;
    clusters = now;
  }

  return (key, render) => {
    forgetOldState();
    const known = rendered.get(key);
    if (known !== undefined) return known;
    const fresh = render();
    rendered.set(key, fresh);
    const [oldest = key] = rendered.keys();
    if (rendered.size > MOST_ENTRIES) rendered.delete(oldest);
    return fresh;
  };
}

import { readVersion, type StatusSource } from './status.ts';

/** What is rendered under this key, as bytes that all answers share; rendered once per state of the clusters. */
export type RenderCache = (key: string, render: () => string) => Buffer;

/** A state lasts until a poll begins or ends, but no longer than a second, since pages show ages. */
export function createRenderCache(source: StatusSource): RenderCache {
  const rendered = new Map<string, Buffer>();
  let state = '';
  return (key, render) => {
    const current = `${readVersion(source)} ${Math.floor(source.wallMs() / 1000)}`;
    if (current !== state) rendered.clear();
    state = current;
    const page = rendered.get(key) ?? Buffer.from(render());
    rendered.set(key, page);
    return page;
  };
}

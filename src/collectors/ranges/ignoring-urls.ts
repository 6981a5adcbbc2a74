import { formatList, plural } from '#base';
import { addWarning, type PollStats, RequestError } from '#cockroach';

const HOUR_MS = 3_600_000;

/**
 * The URLs whose server, or a proxy before it, ignores `ranges=` and lists every range of a node: some tens of megabytes where a few kB
 * are asked for. For an hour they are asked for whole lists only.
 */
export class IgnoringUrls {
  readonly #urls = new Map<number, { readonly name: string; readonly untilMs: number }>();

  add(index: number, name: string, nowMs: number): void {
    this.#urls.set(index, { name, untilMs: nowMs + HOUR_MS });
  }

  /** The names of these URLs. */
  names(nowMs: number): readonly string[] {
    for (const [index, { untilMs }] of this.#urls) if (untilMs <= nowMs) this.#urls.delete(index);
    return Array.from(this.#urls.values(), ({ name }) => name).toSorted();
  }

  /** Which URL may be asked for single ranges: any, beginning with one, or only one; undefined for none. */
  choose(
    urls: number,
    turn: number,
    nowMs: number,
  ): { readonly firstUrl: number } | { readonly onlyUrl: number } | undefined {
    if (this.names(nowMs).length === 0) return { firstUrl: turn % urls };
    const others = Array.from({ length: urls }, (_, index) => index).filter(
      (index) => !this.#urls.has(index),
    );
    const onlyUrl = others[turn % others.length];
    return onlyUrl === undefined ? undefined : { onlyUrl };
  }
}

/** One warning for all URLs: the same proxy is before them. */
export function warnIgnored(stats: Pick<PollStats, 'warnings'>, urls: readonly string[]): void {
  if (urls.length === 0) return;
  const ignore = plural(urls.length, 'ignores', 'ignore');
  const list = plural(urls.length, 'lists', 'list');
  const text = `${formatList(urls)} ${ignore} \`ranges=\` and ${list} all ranges of a node`;
  const error = new RequestError('decode', text, {
    remedy:
      'single ones are not asked for there for an hour; look for a proxy that drops the query of requests',
  });
  addWarning(stats, { about: 'single ranges', endpoint: 'node_ranges', error });
}

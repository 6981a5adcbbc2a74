import type { SimulatorOptions } from '../options.ts';
import type { Quirks } from '../quirks.ts';
import type { ClusterNode } from '../world/nodes.ts';
import type { World } from '../world/world.ts';
import type { Tokens } from './tokens.ts';

/** What answers requests for the cluster API. */
export interface ClusterServer {
  readonly options: SimulatorOptions;
  readonly world: World;
  readonly quirks: Quirks;
  readonly tokens: Tokens;
}

/** A request as a handler sees it. */
export interface ClusterRequest {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
  /** The node that answers: the one whose address was asked, or the one it was proxied to. */
  readonly node: ClusterNode;
}

/** The value of a header that came once. */
export function headerOf(request: ClusterRequest, name: string): string {
  const value = request.headers[name.toLowerCase()];
  return typeof value === 'string' ? value : '';
}

/** The value of a cookie, or undefined. */
export function cookieOf(request: ClusterRequest, name: string): string | undefined {
  for (const pair of headerOf(request, 'cookie').split(';')) {
    const cut = pair.indexOf('=');
    if (cut > 0 && pair.slice(0, cut).trim() === name) return pair.slice(cut + 1).trim();
  }
  return undefined;
}

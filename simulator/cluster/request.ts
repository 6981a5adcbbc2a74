import { textAnswer, type Answer } from '../http/answer.ts';
import type { SimulatorOptions, Account, Privilege } from '../options.ts';
import type { Quirks } from '../quirks.ts';
import type { ClusterNode } from '../world/nodes.ts';
import type { World } from '../world/world.ts';
import type { StoreOrder } from './store-order.ts';
import { type Tokens, decodeBase64, decodeToken } from './tokens.ts';

/** What handlers of the cluster API need. */
export interface ClusterServer {
  readonly options: SimulatorOptions;
  readonly world: World;
  readonly quirks: Quirks;
  readonly tokens: Tokens;
  readonly storeOrder: StoreOrder;
}

/** A request for a handler. */
export interface ClusterRequest {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
  /** The node that responds: the gateway, or the node it was proxied to. */
  readonly node: ClusterNode;
}

/** The value of a header that occurs once. */
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

const ROOT: Account = { name: 'root', admin: true };

/** The account of a request, or the response that refuses it. */
export function callerOf(server: ClusterServer, request: ClusterRequest): Account | Answer {
  if (server.options.insecure) return ROOT;
  const header = headerOf(request, server.quirks.sessionHeader);
  if (header === '') return textAnswer(401, 'invalid session header');
  const fromCookie = header === 'cookie';
  const bytes = decodeBase64(fromCookie ? (cookieOf(request, 'session') ?? '!') : header);
  if (typeof bytes === 'string') {
    return textAnswer(400, fromCookie ? 'invalid session header' : bytes);
  }
  const user = server.tokens.userOf(decodeToken(bytes));
  const account = server.world.state.accounts.find((each) => each.name === user);
  return account ?? textAnswer(401, 'the provided authentication session could not be validated');
}

/** The same of the old mux, which reads the cookie `session` and no header. */
export function callerOfCookie(server: ClusterServer, request: ClusterRequest): Account | Answer {
  if (server.options.insecure) return ROOT;
  const bytes = decodeBase64(cookieOf(request, 'session') ?? '!');
  const user = typeof bytes === 'string' ? '' : server.tokens.userOf(decodeToken(bytes));
  const account = server.world.state.accounts.find((each) => each.name === user);
  return account ?? textAnswer(401, 'the provided authentication session could not be validated');
}

/** The refusal of a caller without the privilege for nodes, ranges and sessions. */
export function refuseUnprivileged(server: ClusterServer, caller: Account): Answer | undefined {
  const { gate, forbidden } = server.quirks;
  const allowed =
    gate === 'none' ||
    caller.admin === true ||
    (gate === 'metadata' && hasPrivilege(caller, 'VIEWCLUSTERMETADATA'));
  if (allowed && !forbidden) return undefined;
  return textAnswer(403, 'user not allowed to access this endpoint');
}

export function hasPrivilege(account: Account, privilege: Privilege): boolean {
  return account.admin === true || (account.privileges ?? []).includes(privilege);
}

export function isRefusal(result: Account | Answer): result is Answer {
  return 'status' in result;
}

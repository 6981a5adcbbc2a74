import { textAnswer, type Answer } from '../http/answer.ts';
import type { Account, Privilege } from '../options.ts';
import { decodeBase64 } from './base64.ts';
import { cookieOf, headerOf, type ClusterRequest, type ClusterServer } from './request.ts';
import { decodeToken } from './tokens.ts';

const ROOT: Account = { name: 'root', admin: true };

/** The account behind a request, or the answer that refuses it. */
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

/** The refusal of a caller who may not see nodes, ranges and sessions. */
export function refusalAtGate(server: ClusterServer, caller: Account): Answer | undefined {
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

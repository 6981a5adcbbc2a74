import { internalError, jsonAnswer, textAnswer, type Answer } from '../http/answer.ts';
import type { Quirks } from '../quirks.ts';
import { encodeJson } from '../wire/encoding.ts';
import { normalizeName } from '../world/accounts.ts';
import { headerOf, type ClusterRequest, type ClusterServer } from './request.ts';
import { decodeBase64, decodeToken } from './tokens.ts';

const NO_SUCH_ACCOUNT = 'the provided credentials did not match any account on the server';

/** POST /login/: form-encoded user name and password become a session token. */
export function login(server: ClusterServer, request: ClusterRequest): Answer {
  if (request.method !== 'POST') return textAnswer(404, 'not found');
  const form = new URLSearchParams(isForm(request) ? request.body : '');
  const name = normalizeName(form.get('username') ?? '');
  if (name === '') return textAnswer(400, 'username not specified');
  const account = server.world.state.accounts.find((each) => each.name === name);
  if (account?.password === undefined || account.password !== form.get('password')) {
    return textAnswer(401, NO_SUCH_ACCOUNT);
  }
  return jsonAnswer(200, encodeJson({ session: issueToken(server, name) }));
}

/** A token of the user, changed by the quirk. */
function issueToken(server: ClusterServer, name: string): string {
  const token = server.tokens.issue(name);
  const bytes = decodeBase64(token);
  if (server.quirks.loginToken === 'refused' && typeof bytes !== 'string') {
    server.tokens.revoke(decodeToken(bytes));
  }
  return TOKEN_VARIANTS[server.quirks.loginToken](token);
}

const LONG_TOKEN_LENGTH = 8192;

const TOKEN_VARIANTS: Readonly<Record<Quirks['loginToken'], (token: string) => string>> = {
  good: (token) => token,
  newline: (token) => `${token.slice(0, 8)}\n${token.slice(8)}`,
  cjk: (token) => `令牌${token}`,
  long: (token) => token.slice(0, 16).repeat(LONG_TOKEN_LENGTH / 16),
  empty: () => '',
  refused: (token) => token,
};

function isForm(request: ClusterRequest): boolean {
  return headerOf(request, 'content-type').startsWith('application/x-www-form-urlencoded');
}

/** POST /logout/: revokes the session of the header. */
export function logout(server: ClusterServer, request: ClusterRequest): Answer {
  if (request.method !== 'POST') return textAnswer(404, 'not found');
  const header = headerOf(request, server.quirks.sessionHeader);
  if (header === '') return textAnswer(400, 'invalid or unspecified session');
  const bytes = decodeBase64(header);
  if (typeof bytes === 'string') return internalError();
  if (!server.tokens.revoke(decodeToken(bytes))) return textAnswer(400, 'invalid session');
  return jsonAnswer(200, encodeJson({ logged_out: true }));
}

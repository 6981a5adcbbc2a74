import type { IncomingMessage, ServerResponse } from 'node:http';
import type { WebConfig } from '../config/web-config.ts';
import { createAuthenticator } from './basic-auth.ts';
import type { PasswordChecker } from './password-checker.ts';
import { createRateLimiter } from './rate-limiter.ts';
import { sendText } from './text.ts';

export interface GuardOptions {
  readonly config: () => WebConfig;
  readonly checker: PasswordChecker;
  readonly monotonicMs: () => number;
}

/** What stands before every answer; false when it has answered itself. `isOpen`: no limit, no password. */
export type Guard = (
  request: IncomingMessage,
  response: ServerResponse,
  isOpen: boolean,
) => Promise<boolean>;

/** Rate limit, then headers, then password: the order of the exporter toolkit. */
export function createGuard({ config, checker, monotonicMs }: GuardOptions): Guard {
  const isWithinRate = createRateLimiter(monotonicMs);
  const authenticator = createAuthenticator(() => config().users, checker);

  return async (request, response, isOpen) => {
    const { rateLimit, headers, users } = config();
    if (!isOpen && rateLimit !== undefined && !isWithinRate(rateLimit)) {
      sendText(response, 429, 'too many requests\n');
      return false;
    }
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    if (isOpen || users.size === 0) return true;
    const client = { address: request.socket.remoteAddress, left: whenClosed(response) };
    const verdict = await authenticator.judge(request.headers.authorization, client);
    if (verdict === 'bad') {
      sendText(response, 401, 'Unauthorized\n', { 'www-authenticate': 'Basic' });
    } else if (verdict === 'busy') {
      sendText(response, 429, 'too many logins at a time\n', { 'retry-after': '1' });
    }
    return verdict === 'good';
  };
}

/** Aborts when the answer is over, which it is too when the client has left. */
function whenClosed(response: ServerResponse): AbortSignal {
  const closed = new AbortController();
  if (response.closed) closed.abort();
  else response.once('close', () => closed.abort());
  return closed.signal;
}

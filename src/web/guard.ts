import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
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

/** Whoever is dropped from the queue and asks again at once would displace others without end. */
const BUSY_SECONDS = 1;

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
      await sendBusy(response, client.left);
    }
    return verdict === 'good';
  };
}

async function sendBusy(response: ServerResponse, left: AbortSignal): Promise<void> {
  // Ends early only when the client has left, which then needs no answer.
  const pause = { signal: left, ref: false };
  await sleep(BUSY_SECONDS * 1000, undefined, pause).catch(() => undefined);
  const headers = { 'retry-after': String(BUSY_SECONDS) };
  sendText(response, 429, 'too many logins at a time\n', headers);
}

/** Aborts when the answer is over, which it is too when the client has left. */
function whenClosed(response: ServerResponse): AbortSignal {
  const closed = new AbortController();
  if (response.closed) closed.abort();
  else response.once('close', () => closed.abort());
  return closed.signal;
}

import type { IncomingMessage, RequestListener } from 'node:http';
import type { FaultRule } from '../http/faults.ts';
import { openListener, type Listener } from '../http/listener.ts';
import type { RequestLog } from '../http/request-log.ts';
import { readBody } from '../http/serve.ts';
import type { Listen } from '../options.ts';
import type { World } from '../world/world.ts';
import { parseFaultRule } from './fault-rule.ts';
import { ControlError, parseMembers } from './members.ts';
import { actOnWorld, describeActions } from './world-actions.ts';

/** What can be controlled over HTTP. */
export interface Controls {
  readonly world: World & { expireTokens(): void; revokeTokens(): void; failOver(): void };
  readonly requests: RequestLog;
  truth(): object;
  fault(rule: FaultRule): unknown;
  clearFaults(): void;
  /** Returns false for an unknown name or a value of the wrong type. */
  setNamedQuirk(name: string, value: unknown): boolean;
}

/** Opens the control port. It has no authentication, so it must be a loopback address. */
export function openControl(listen: Listen, controlled: Controls): Promise<Listener> {
  if (!['127.0.0.1', '::1', 'localhost'].includes(listen.host)) {
    throw new RangeError(`control address ${listen.host}: only loopback is allowed`);
  }
  const listener: RequestListener = (request, response) => {
    answer(controlled, request)
      .then(({ status, value }) => {
        response.writeHead(status, { 'Content-Type': 'application/json' });
        response.end(`${JSON.stringify(value, undefined, 2)}\n`);
      })
      .catch(() => response.destroy());
  };
  return openListener(listen, undefined, listener, listener);
}

interface Result {
  readonly status: number;
  readonly value: unknown;
}

async function answer(controlled: Controls, request: IncomingMessage): Promise<Result> {
  const body = await readBody(request);
  try {
    return handleCall(controlled, `${request.method ?? 'GET'} ${request.url ?? '/'}`, body);
  } catch (error) {
    const status = error instanceof ControlError ? 400 : 500;
    return { status, value: { error: error instanceof Error ? error.message : String(error) } };
  }
}

function handleCall(controlled: Controls, call: string, body: string): Result {
  switch (call) {
    case 'GET /':
      return { status: 200, value: describe() };
    case 'GET /truth':
      return { status: 200, value: controlled.truth() };
    case 'GET /requests':
      return { status: 200, value: controlled.requests.entries };
    case 'POST /faults':
      controlled.fault(parseFaultRule(parseMembers(body)));
      return { status: 200, value: {} };
    case 'DELETE /faults':
      controlled.clearFaults();
      return { status: 200, value: {} };
    case 'POST /quirks':
      return setQuirks(controlled, body);
    case 'POST /tokens/expire':
      controlled.world.expireTokens();
      return { status: 200, value: {} };
    case 'POST /tokens/revoke':
      controlled.world.revokeTokens();
      return { status: 200, value: {} };
    case 'POST /failover':
      controlled.world.failOver();
      return { status: 200, value: {} };
    default:
      return onWorld(controlled, call, body);
  }
}

function onWorld(controlled: Controls, call: string, body: string): Result {
  const [, name] = /^POST \/world\/([a-z-]+)$/.exec(call) ?? [];
  if (name === undefined)
    return { status: 404, value: { error: `${call}: unknown; GET / lists the calls` } };
  return { status: 200, value: actOnWorld(controlled.world, name, parseMembers(body)) };
}

function setQuirks(controlled: Controls, body: string): Result {
  for (const [name, value] of parseMembers(body)) {
    if (!controlled.setNamedQuirk(name, value)) {
      throw new ControlError(
        `${name}: no such quirk, or ${JSON.stringify(value)} has the wrong type`,
      );
    }
  }
  return { status: 200, value: {} };
}

function describe(): object {
  return {
    'GET /truth': 'the correct result of every collector at this moment',
    'GET /requests': 'the requests received so far',
    'POST /faults':
      'kind, and by kind ms, bytes, bytesPerSecond, status, body, retryAfter, location; api? endpoint? node? gateway? skip? times? probability?',
    'DELETE /faults': 'removes all faults',
    'POST /quirks':
      'quirk names and values, such as loginToken good|newline|cjk|long|empty|refused',
    'POST /tokens/expire': 'expires all session tokens',
    'POST /tokens/revoke': 'revokes all session tokens',
    'POST /failover': 'a standby with virtual clusters fails over: main answers by default',
    ...describeActions(),
  };
}

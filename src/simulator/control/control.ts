import type { IncomingMessage, RequestListener } from 'node:http';
import { readBody } from '../http/body.ts';
import { openListener, type Listener } from '../http/listener.ts';
import type { FaultRule } from '../http/faults.ts';
import type { RequestLog } from '../http/request-log.ts';
import type { Listen } from '../options.ts';
import type { World } from '../world/world.ts';
import { parseFaultRule } from './fault-rule.ts';
import { ControlError, parseMembers } from './members.ts';
import { actOnWorld, describeActions } from './world-actions.ts';

/** What can be steered over HTTP. */
export interface Controlled {
  readonly world: World & { expireTokens(): void; revokeTokens(): void };
  readonly requests: RequestLog;
  truth(): object;
  fault(rule: FaultRule): unknown;
  clearFaults(): void;
  /** False for an unknown name or a value of the wrong type. */
  setNamedQuirk(name: string, value: unknown): boolean;
}

/** Opens the control port; anybody who reaches it may do anything, so it must be a loopback address. */
export function openControl(listen: Listen, controlled: Controlled): Promise<Listener> {
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

interface Outcome {
  readonly status: number;
  readonly value: unknown;
}

async function answer(controlled: Controlled, request: IncomingMessage): Promise<Outcome> {
  const body = await readBody(request);
  try {
    return steer(controlled, `${request.method ?? 'GET'} ${request.url ?? '/'}`, body);
  } catch (error) {
    const status = error instanceof ControlError ? 400 : 500;
    return { status, value: { error: error instanceof Error ? error.message : String(error) } };
  }
}

function steer(controlled: Controlled, call: string, body: string): Outcome {
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
    default:
      return onWorld(controlled, call, body);
  }
}

function onWorld(controlled: Controlled, call: string, body: string): Outcome {
  const [, name] = /^POST \/world\/([a-z-]+)$/.exec(call) ?? [];
  if (name === undefined)
    return { status: 404, value: { error: `${call}: GET / lists the calls` } };
  return { status: 200, value: actOnWorld(controlled.world, name, parseMembers(body)) };
}

function setQuirks(controlled: Controlled, body: string): Outcome {
  for (const [name, value] of parseMembers(body)) {
    if (!controlled.setNamedQuirk(name, value)) {
      throw new ControlError(
        `${name}: no such quirk, or ${JSON.stringify(value)} is of a wrong type`,
      );
    }
  }
  return { status: 200, value: {} };
}

function describe(): object {
  return {
    'GET /truth': 'what an exporter that makes no mistake would find out now',
    'GET /requests': 'the requests that have arrived',
    'POST /faults':
      'kind, and by kind ms, bytes, bytesPerSecond, status, body, retryAfter, location; api? endpoint? node? skip? times? probability?',
    'DELETE /faults': 'all of them',
    'POST /quirks':
      'quirk names and values, such as loginToken good|newline|cjk|long|empty|refused',
    'POST /tokens/expire': '',
    'POST /tokens/revoke': '',
    ...describeActions(),
  };
}

import type { ConnectionOptions } from 'node:tls';
import { Agent, type Dispatcher } from 'undici';
import { createProxyAgent, type Proxy } from './proxy-agent.ts';
import { POLICY } from './retry-policy.ts';

const KEEP_ALIVE_MS = 60_000;

export interface AgentOptions {
  readonly tls: Omit<ConnectionOptions, 'port'>;
  readonly proxy?: Proxy | undefined;
  readonly maxConcurrentRequests: number;
  readonly deadlines: { readonly headersMs: number };
}

/**
 * A pool of connections. The time to the headers of a response includes connecting, which has a limit of its own: a
 * black-holed host must not use up the time that the next URL needs.
 */
export function createAgent({
  tls,
  proxy,
  maxConcurrentRequests,
  deadlines,
}: AgentOptions): Dispatcher {
  const timeout = Math.min(POLICY.connectMs, deadlines.headersMs);
  const connect = {
    ...tls,
    timeout,
    minVersion: 'TLSv1.2' as const,
    // Node.js gives each address of a name but the last one 250 ms, which a slow link needs for the first packet alone.
    autoSelectFamilyAttemptTimeout: Math.ceil(timeout / 3),
    // The configured CAs are trusted as they are, also one whose issuer is not among them, as in Go and curl.
    allowPartialTrustChain: tls.ca !== undefined,
  };
  const pool = {
    allowH2: false,
    connections: maxConcurrentRequests,
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // attempt.ts watches headers and chunks; undici's timers are coarse.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect,
  };
  return proxy === undefined ? new Agent(pool) : createProxyAgent(proxy, pool);
}

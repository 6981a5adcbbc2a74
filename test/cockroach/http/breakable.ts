import type { TestClient } from '../../support/cluster.ts';
import { serve, type TestServer } from '../../support/http-server.ts';

type Fault = 'silence' | 'reset' | 'stall' | 'late 504' | number;

/** A server of which single paths can be broken, or all of them by the path ''. */
export interface BreakableServer extends TestServer {
  readonly faults: Map<string, Fault>;
}

/** Answers everything, but for what the test breaks. */
export async function breakable(): Promise<BreakableServer> {
  const faults = new Map<string, Fault>();
  const server = await serve((request, response) => {
    const found = [...faults].find(([path]) => request.url?.includes(path) === true);
    const fault = found?.[1];
    if (fault === 'silence') return;
    if (fault === 'reset') response.destroy();
    else if (fault === 'stall') response.write('{');
    else if (fault === 'late 504') setTimeout(() => response.writeHead(504).end(), 100);
    else {
      response.statusCode = fault ?? 200;
      response.end('{"fine":true}');
    }
  });
  return { ...server, faults };
}

export const NODES = { endpoint: 'nodes', path: '/nodes/' } as const;
export const SESSIONS = { endpoint: 'sessions', path: '/sessions/' } as const;
export const RANGES = { endpoint: 'node_ranges', path: '/ranges/' } as const;
export const OF_NODE_3 = { ...RANGES, path: '/ranges/3', node: 3 } as const;
export const IMPATIENT = { deadlines: { headersMs: 500, idleMs: 500 } };

export function states({ http }: Pick<TestClient, 'http'>): readonly string[] {
  return http.upstreams().map(({ state }) => state);
}

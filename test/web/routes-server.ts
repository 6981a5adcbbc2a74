import path from 'node:path';
import { onTestFinished } from 'vitest';
import { createLog } from '../../src/log.ts';
import { openAccess } from '../../src/web/access.ts';
import { PATIENCE, type Patience } from '../../src/web/listener.ts';
import type { Route } from '../../src/web/routes.ts';
import { startWebServer, type WebServerOptions } from '../../src/web/server.ts';
import { makeFolder } from '../config/folder.ts';

/** The web server with these routes, on a unix socket, whose buffers are small; the path of that socket. */
export async function serveRoutes(
  routes: readonly Route[],
  patience: Partial<Patience> = {},
): Promise<string> {
  const socket = path.join(await makeFolder(), 'web.sock');
  await serve(routes, { path: socket }, patience);
  return socket;
}

/** The same on a free port. */
export async function serveRoutesOverTcp(routes: readonly Route[]): Promise<number> {
  const [address = ''] = await serve(routes, { host: '127.0.0.1', port: 0 });
  return Number(new URL(address).port);
}

async function serve(
  routes: readonly Route[],
  address: WebServerOptions['web']['listen_address'][number],
  patience: Partial<Patience> = {},
): Promise<readonly string[]> {
  const log = createLog({ level: 'error', format: 'logfmt', destination: { write() {} } });
  const server = await startWebServer({
    web: { listen_address: [address], protect_probes: false },
    routes,
    access: await openAccess({ file: undefined, everyMs: 1_000, log }),
    monotonicMs: () => performance.now(),
    connectionDropped() {},
    patience: { ...PATIENCE, ...patience },
    log,
  });
  onTestFinished(() => server.close(0));
  return server.addresses;
}

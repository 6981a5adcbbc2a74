import path from 'node:path';
import { onTestFinished } from 'vitest';
import { createLog } from '../../../src/base/log.ts';
import type { Route } from '../../../src/exporter/routes/respond.ts';
import { SERVER_TIMEOUTS, type WebServerOptions } from '../../../src/exporter/server/app.ts';
import { watchWebConfig } from '../../../src/exporter/server/web-config-watcher.ts';
import { startWebServer } from '../../../src/exporter/server/web-server.ts';
import { makeFolder } from '../../config/folder.ts';

/** The web server with these routes, on a unix socket, whose buffers are small; the path of that socket. */
export async function serveRoutes(
  routes: readonly Route[],
  timeouts: Partial<WebServerOptions['timeouts']> = {},
): Promise<string> {
  const socket = path.join(await makeFolder(), 'web.sock');
  const log = createLog({ level: 'error', format: 'logfmt', destination: { write() {} } });
  const server = await startWebServer({
    web: { listen_address: [{ path: socket }], protect_probes: false },
    routes,
    webConfig: await watchWebConfig(undefined, 1_000, log),
    monotonicMs: () => performance.now(),
    connectionDropped() {},
    tlsRefused() {},
    timeouts: { ...SERVER_TIMEOUTS, ...timeouts },
    log,
  });
  onTestFinished(() => server.close(0));
  return socket;
}

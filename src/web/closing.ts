import { once } from 'node:events';
import type { Server } from 'node:http';
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Connections } from './connections.ts';

/** Closes a server: no new connections, answers under way may end within `graceMs`, then everything is cut off. */
export async function closeServer(
  server: Server,
  connections: Connections,
  graceMs: number,
): Promise<void> {
  const closed = once(server, 'close');
  // The server's own close() takes an answer that is written but not yet sent for an idle connection.
  net.Server.prototype.close.call(server);
  connections.endAll();
  await Promise.race([connections.answered(), sleep(graceMs, undefined, { ref: false })]);
  connections.destroyAll();
  server.close();
  await closed;
}

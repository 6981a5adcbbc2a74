import { once } from 'node:events';
import type { Server, ServerResponse } from 'node:http';
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Follows the connections of a server that does not listen yet. The answer closes it: no new
 * connections, answers under way may end within `graceMs`, then everything is cut off.
 */
export function prepareClosing(server: Server): (graceMs: number) => Promise<void> {
  const sockets = new Set<net.Socket>();
  const answers = new Set<ServerResponse>();
  let isClosing = false;
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.prependListener('request', (_request, response) => {
    answers.add(response);
    response.on('close', () => answers.delete(response));
    if (isClosing) response.setHeader('connection', 'close');
  });
  return async (graceMs) => {
    isClosing = true;
    const closed = once(server, 'close');
    // The server's own close() takes an answer that is written but not yet sent for an idle connection.
    net.Server.prototype.close.call(server);
    const ended = Promise.all(Array.from(answers, (answer) => once(answer, 'close')));
    await Promise.race([ended, sleep(graceMs, undefined, { ref: false })]);
    for (const socket of sockets) socket.destroy();
    server.close();
    await closed;
  };
}

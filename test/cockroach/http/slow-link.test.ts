import { spawn } from 'node:child_process';
import { once } from 'node:events';
import net, { type LookupFunction } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { ask, connect } from '../../support/http-client.ts';

const SERVER = `
const server = require('node:http').createServer((_, response) => response.end('{"fine":true}'));
server.listen({ host: '127.0.0.1', port: 0, backlog: 1 }, () => console.log(server.address().port));
`;

/** Linux drops the first packet of a connection while the queue of a listener is full; it is sent again a second later. */
async function startSlowServer(): Promise<number> {
  const child = spawn(process.execPath, ['-e', SERVER], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [line] = await once(child.stdout, 'data');
  const port = Number(line);
  child.kill('SIGSTOP');
  const waiting = Array.from({ length: 8 }, () => net.connect(port, '127.0.0.1'));
  onTestFinished(() => {
    for (const socket of waiting) socket.destroy();
  });
  await Promise.all(waiting.slice(0, 2).map((socket) => once(socket, 'connect')));
  void sleep(500).then(() => child.kill('SIGCONT'));
  return port;
}

test('a name with addresses of both families is reached over a slow link', async () => {
  const port = await startSlowServer();
  const addresses = [
    { address: '127.0.0.1', family: 4 },
    { address: '::1', family: 6 },
  ];
  const lookup: LookupFunction = (_host, _options, callback) => callback(null, addresses);
  await using client = connect([`http://crdb.example:${port}`], {
    tls: { rejectUnauthorized: true, lookup },
  });
  expect(await ask(client)).toBe('{"fine":true}');
  expect(client.finished.map(({ code }) => code)).toEqual([200]);
});

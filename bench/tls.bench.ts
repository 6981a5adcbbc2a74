// What a new connection costs the client: one that makes a whole handshake, and one that resumes its session, against one without TLS.
// Run: node bench/tls.bench.ts [rounds]
import { once } from 'node:events';
import net from 'node:net';
import tls from 'node:tls';
import { createAuthority } from '../test/support/certificates.ts';
import { type Cost, describeSpread, measureUse, spreadOf, takeTurns } from './cost.ts';
import type { PageServer, ServedPage } from './page-server.ts';
import { startProcess } from './process.ts';
import { report } from './rows.ts';

const ROUNDS = Number(process.argv[2] ?? 15);
/** In a turn. */
const CONNECTIONS = 50;
/** A poll may open some connections; they must not cost what a page does. */
const MAX_MS = 10;

const authority = await createAuthority();
const identity = await authority.issue({ name: 'server', sans: ['ip:127.0.0.1'] });
const secured: PageServer = { ranges: 1, identity };
await using secure = await startProcess('page-server.ts', secured);
await using plain = await startProcess('page-server.ts', { ranges: 1 } satisfies PageServer);

async function portOf(server: typeof secure): Promise<number> {
  return Number(new URL((await server.call<ServedPage>('page')).url).port);
}
const [securePort, plainPort] = await Promise.all([portOf(secure), portOf(plain)]);
const context = tls.createSecureContext({ ca: authority.cert });
let session: Buffer | undefined;

async function connectTls(isResumed: boolean): Promise<void> {
  const socket = tls.connect({
    host: '127.0.0.1',
    port: securePort,
    secureContext: context,
    ...(isResumed && session !== undefined && { session }),
  });
  socket.on('session', (ticket) => {
    session = ticket;
  });
  await once(socket, 'secureConnect');
  if (isResumed && session !== undefined && !socket.isSessionReused())
    throw new Error('no session was resumed');
  // Tickets arrive with the first answer.
  socket.write('POST / HTTP/1.1\r\n\r\n');
  await once(socket, 'data');
  socket.destroy();
}

async function connectPlain(): Promise<void> {
  const socket = net.connect(plainPort, '127.0.0.1');
  await once(socket, 'connect');
  socket.write('POST / HTTP/1.1\r\n\r\n');
  await once(socket, 'data');
  socket.destroy();
}

async function costOf(connect: () => Promise<void>) {
  const { cpuMs, loopMs, wallMs } = await measureUse(async () => {
    for (let connection = 0; connection < CONNECTIONS; connection += 1) await connect();
  });
  return { cpuMs: cpuMs / CONNECTIONS, loopMs: loopMs / CONNECTIONS, wallMs: wallMs / CONNECTIONS };
}

await connectTls(false);
const costs = await takeTurns<Pick<Cost, 'cpuMs' | 'loopMs' | 'wallMs'>>(
  {
    handshake: () => costOf(() => connectTls(false)),
    resumed: () => costOf(() => connectTls(true)),
    plain: () => costOf(connectPlain),
  },
  { rounds: ROUNDS },
);
const cpu = (name: string): number[] => (costs[name] ?? []).map(({ cpuMs }) => cpuMs);

report([
  {
    name: 'A new connection over TLS and its first answer: CPU time of the client',
    target: `≤ ${MAX_MS} ms`,
    result: `**${describeSpread(cpu('handshake'), 2)} ms** with a whole handshake, ${describeSpread(cpu('resumed'), 2)} ms where it resumes a session (a reconnect)`,
    baseline: `without TLS: ${describeSpread(cpu('plain'), 2)} ms`,
    isMet: spreadOf(cpu('handshake')).median <= MAX_MS,
  },
]);

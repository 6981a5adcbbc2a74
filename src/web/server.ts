import type { Config } from '../config/schema.ts';
import type { Log } from '../log.ts';
import type { Access } from './access.ts';
import { createGuard } from './guard.ts';
import { createHandler } from './handler.ts';
import { listen, type Listener, PATIENCE, type Patience } from './listener.ts';
import { createDropLog } from './drop-log.ts';
import { createPasswordChecker } from './password-checker.ts';
import type { Route } from './routes.ts';
import { limitSending } from './sending.ts';

export interface WebServerOptions {
  readonly web: Pick<Config['web'], 'listen_address' | 'protect_probes'>;
  /** Descriptors of sockets that listen already; taken instead of the addresses when there are any. */
  readonly sockets?: readonly number[];
  readonly routes: readonly Route[];
  /** Ends with the server. */
  readonly access: Access;
  readonly monotonicMs: () => number;
  /** Counts a connection that was refused or closed because too many were open. */
  readonly connectionDropped: () => void;
  readonly patience?: Patience | undefined;
  readonly log: Log;
}

export interface WebServer {
  /** What is really listened on, as URLs or `unix:` paths; port 0 has become a number. */
  readonly addresses: readonly string[];
  /** Takes no new requests and lets the running ones end, but no longer than `graceMs`. */
  close(graceMs: number): Promise<void>;
}

/** Listens on every address, or on none: rejects with the system's error of the first that fails. */
export async function startWebServer(options: WebServerOptions): Promise<WebServer> {
  const { web, access, log, monotonicMs, routes, patience = PATIENCE } = options;
  const { sockets = [] } = options;
  const inherited = sockets.map((fd) => ({ fd }));
  const checker = createPasswordChecker();
  const guard = createGuard({ config: access.config, checker, monotonicMs });
  const { protect_probes: protectProbes } = web;
  const handler = limitSending(
    createHandler({ routes, guard, protectProbes, log }),
    patience.sendMs,
  );
  const onDropped = createDropLog({ count: options.connectionDropped, monotonicMs, log });
  const listeners: Listener[] = [];
  const close = async (graceMs: number): Promise<void> => {
    access[Symbol.dispose]();
    await Promise.all(listeners.map((listener) => listener.close(graceMs)));
    await checker[Symbol.asyncDispose]();
  };
  try {
    for (const address of inherited.length > 0 ? inherited : web.listen_address) {
      const tls = () => access.config().tls;
      const { onNewTls } = access;
      const shared = { handler, tls, onNewTls, patience, onDropped, log };
      listeners.push(await listen({ address, ...shared }));
    }
  } catch (error) {
    await close(0);
    throw error;
  }
  return { addresses: listeners.map(({ address }) => address), close };
}

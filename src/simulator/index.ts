import { cloudService } from './cloud/cloud-api.ts';
import type { CloudRole } from './cloud/service.ts';
import type { ClusterServer } from './cluster/request.ts';
import { clusterService, plainService } from './cluster/service.ts';
import { createTokens } from './cluster/tokens.ts';
import { openListener, type Listener } from './http/listener.ts';
import { createRequestLog, type RequestLog } from './http/request-log.ts';
import { serve } from './http/serve.ts';
import { resolveOptions, type SimulatorOptions } from './options.ts';
import { quirksOf, type Quirks } from './quirks.ts';
import { truthOf, type Truth } from './truth/truth.ts';
import { createWorld, type World } from './world/world.ts';

export { ASSISTANT_PASSWORD } from './cloud/assistant.ts';
export type { Account, Listen, Privilege, SimulatorOptions } from './options.ts';
export type { Dialect, Quirks } from './quirks.ts';
export type { LoggedRequest, RequestLog } from './http/request-log.ts';
export type { Truth } from './truth/truth.ts';
export { SQL_MARKER } from './world/session-texts.ts';

/** What tests and the demo may do to the world, tokens included. */
export interface SimulatedWorld extends World {
  /** Every token given out so far stops being valid. */
  expireTokens(): void;
  revokeTokens(): void;
}

/** A running simulator of both APIs. */
export interface Simulator extends AsyncDisposable {
  /** Root of the first cluster address, without /api/v2. */
  readonly clusterUrl: string;
  /** One for each gateway: the addresses of node 1, 2, … */
  readonly clusterUrls: readonly string[];
  readonly cloudUrl: string;
  /** Undefined unless `controlListen` was given. */
  readonly controlUrl: string | undefined;
  readonly username: string;
  readonly password: string;
  readonly cloudToken: string;
  readonly cloudClusterId: string;
  readonly world: SimulatedWorld;
  readonly requests: RequestLog;
  truth(): Truth;
  setQuirk<Name extends keyof Quirks>(name: Name, value: Quirks[Name]): void;
  /** Ends all connections and frees the ports; may be called twice. */
  close(): Promise<void>;
}

const CLOUD_TOKEN = 'simulated-cloud-token';

/** Starts both APIs on loopback ports; the same options give the same world. */
export async function startSimulator(given: Partial<SimulatorOptions> = {}): Promise<Simulator> {
  const options = resolveOptions(given);
  const quirks = quirksOf(options.dialect, options.quirks);
  const world = createWorld(options);
  const tokens = createTokens(options.seed, options.sessionTimeoutMs, options.now);
  const requests = createRequestLog();
  const server: ClusterServer = { options, world, quirks, tokens };
  const listeners = await openCluster(server, requests);
  const cloud = cloudService({ world, quirks, rolesOf }, requests);
  const cloudListener = await openListener(
    options.cloudListen,
    undefined,
    serve(cloud),
    serve(cloud),
  );
  const close = async (): Promise<void> => {
    await Promise.all([...listeners, cloudListener].map((listener) => listener.close()));
  };
  const clusterUrls = listeners.map((listener) => listener.url);
  return {
    clusterUrl: clusterUrls[0] ?? '',
    clusterUrls,
    cloudUrl: cloudListener.url,
    controlUrl: undefined,
    username: options.username,
    password: options.password,
    cloudToken: CLOUD_TOKEN,
    cloudClusterId: world.state.assistant.clusterId,
    world: {
      ...world,
      expireTokens: () => tokens.expireAll(),
      revokeTokens: () => tokens.revokeAll(),
    },
    requests,
    truth: () => truthOf(world.state, world.assistant()),
    setQuirk: (name, value) => {
      quirks[name] = value;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

async function openCluster(
  server: ClusterServer,
  requests: ReturnType<typeof createRequestLog>,
): Promise<Listener[]> {
  const { options } = server;
  const listeners: Listener[] = [];
  for (let nodeId = 1; nodeId <= options.gateways; nodeId++) {
    const service = clusterService(server, nodeId, requests);
    const plain = plainService(service);
    // The other addresses take the following ports, or free ones when the first is free.
    const port = options.listen.port === 0 ? 0 : options.listen.port + nodeId - 1;
    const listen = { ...options.listen, port };
    listeners.push(await openListener(listen, options.tls, serve(service), serve(plain)));
  }
  return listeners;
}

function rolesOf(token: string): readonly CloudRole[] | undefined {
  return token === CLOUD_TOKEN ? ['CLUSTER_ADMIN'] : undefined;
}

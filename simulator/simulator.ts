import { CLOUD_TOKEN, rolesOfToken } from './cloud/request.ts';
import { cloudService } from './cloud/service.ts';
import type { ClusterServer } from './cluster/request.ts';
import { clusterService, plainService } from './cluster/service.ts';
import { createStoreOrder } from './cluster/store-order.ts';
import { createTokens, type Tokens } from './cluster/tokens.ts';
import { openControl } from './control/control.ts';
import { createFaults, type FaultHandle, type FaultRule, type Faults } from './http/faults.ts';
import { openListener, type Listener } from './http/listener.ts';
import { createRequestLog, type RequestLog, type RequestRecorder } from './http/request-log.ts';
import { serve, type Service } from './http/serve.ts';
import { resolveOptions, type SimulatorOptions } from './options.ts';
import { quirksOf, setNamedQuirk, type Quirks } from './quirks.ts';
import { calmScenario, incidentScenario, type Scenario } from './scenario.ts';
import { dependenceTruth } from './truth/dependence-truth.ts';
import { truthOf, type Truth } from './truth/truth.ts';
import { advanceLiveness } from './world/liveness.ts';
import { createWorld, type World } from './world/world.ts';

/** The world as tests and the demo change it, session tokens included. */
interface SimulatedWorld extends World {
  /** Invalidates every session token issued so far. */
  expireTokens(): void;
  revokeTokens(): void;
  /** The failover of a standby: from now on the virtual cluster main answers the requests that choose none. */
  failOver(): void;
}

/** A running simulator of both APIs. */
export interface Simulator extends AsyncDisposable {
  /** Root of the first cluster address, without /api/v2. */
  readonly clusterUrl: string;
  /** One for each gateway: the URLs of node 1, 2, … */
  readonly clusterUrls: readonly string[];
  readonly cloudUrl: string;
  /** Undefined unless `controlListen` was given. */
  readonly controlUrl: string | undefined;
  readonly username: string;
  readonly password: string;
  /** A token with the role CLUSTER_ADMIN; `NAME-token` in lower case has only the role NAME. */
  readonly cloudToken: string;
  readonly cloudClusterId: string;
  /** What happens when, in seconds from the start. */
  readonly events: Scenario['events'];
  readonly world: SimulatedWorld;
  readonly requests: RequestLog;
  /** `sessionsOf` is the only user whose sessions count; default: all. */
  truth(sessionsOf?: string): Truth;
  /** The part of the truth that says what may stop; it costs less than all of it. */
  dependence(): Truth['dependence'];
  /** Applies the rule's effect to requests in its scope; the first matching rule wins. */
  fault(rule: FaultRule): FaultHandle;
  clearFaults(): void;
  setQuirk<Name extends keyof Quirks>(name: Name, value: Quirks[Name]): void;
  /** Closes all connections and ports; may be called twice. */
  close(): Promise<void>;
}

/** Shared by all services of a simulator. */
interface Parts {
  readonly server: ClusterServer;
  readonly world: SimulatedWorld;
  readonly tokens: Tokens;
  readonly requests: RequestRecorder;
  readonly faults: Faults;
  readonly scenario: Scenario;
}

/** Starts both APIs, by default on free loopback ports; the same options give the same world. */
export async function startSimulator(given: Partial<SimulatorOptions> = {}): Promise<Simulator> {
  const parts = createParts(resolveOptions(given));
  const { options, quirks } = parts.server;
  const opened: Listener[] = [];
  const close = async (): Promise<void> => {
    await Promise.all(opened.map((listener) => listener.close()));
  };
  try {
    const cluster = await openCluster(parts, opened);
    const cloud = await openCloud(parts, opened);
    const control = await openControlPort(parts, opened);
    return {
      ...createControls(parts),
      clusterUrl: cluster[0] ?? '',
      clusterUrls: cluster,
      cloudUrl: cloud,
      controlUrl: control,
      username: options.username,
      password: options.password,
      cloudToken: CLOUD_TOKEN,
      cloudClusterId: parts.world.state.assistant.clusterId,
      events: parts.scenario.events,
      setQuirk: (name, value) => {
        quirks[name] = value;
      },
      close,
      [Symbol.asyncDispose]: close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function createParts(options: SimulatorOptions): Parts {
  const world = createWorld(options);
  const quirks = quirksOf(options.dialect, options.quirks);
  const tokens = createTokens(options.seed, options.sessionTimeoutMs, options.now);
  return {
    server: { options, world, tokens, quirks, storeOrder: createStoreOrder(options.seed) },
    world: {
      ...world,
      expireTokens: () => tokens.expireAll(),
      revokeTokens: () => tokens.revokeAll(),
      failOver: () => {
        quirks.defaultVirtualCluster = 'main';
      },
    },
    tokens,
    requests: createRequestLog(options.requestBegan),
    faults: createFaults(options.seed),
    scenario: options.scenario === 'incident' ? incidentScenario(world) : calmScenario(),
  };
}

function createControls(
  parts: Parts,
): Pick<Simulator, 'world' | 'requests' | 'truth' | 'dependence' | 'fault' | 'clearFaults'> {
  const { world, requests, faults } = parts;
  return {
    world,
    requests,
    truth: (sessionsOf) => {
      advance(parts);
      return truthOf(world.state, world.assistant(), sessionsOf);
    },
    dependence: () => {
      advance(parts);
      return dependenceTruth(world.state);
    },
    fault: (rule) => faults.add(rule),
    clearFaults: () => faults.clear(),
  };
}

/** One listener for each gateway, on consecutive ports when the first is fixed. */
async function openCluster(parts: Parts, opened: Listener[]): Promise<string[]> {
  const { options } = parts.server;
  const urls: string[] = [];
  for (let nodeId = 1; nodeId <= options.gateways; nodeId++) {
    const service = withScenario(
      parts,
      clusterService(parts.server, nodeId, parts.requests, parts.faults),
    );
    const port = options.listen.port === 0 ? 0 : options.listen.port + nodeId - 1;
    const listen = { host: options.listen.host, port };
    const listener = await openListener(
      listen,
      options.tls,
      serve(service),
      serve(plainService(service)),
    );
    opened.push(listener);
    urls.push(listener.url);
  }
  return urls;
}

async function openCloud(parts: Parts, opened: Listener[]): Promise<string> {
  const { options, quirks, world } = parts.server;
  const server = { world, quirks, rolesOf: rolesOfToken };
  const handler = serve(withScenario(parts, cloudService(server, parts.requests, parts.faults)));
  const listener = await openListener(options.cloudListen, undefined, handler, handler);
  opened.push(listener);
  return listener.url;
}

async function openControlPort(parts: Parts, opened: Listener[]): Promise<string | undefined> {
  const { controlListen } = parts.server.options;
  if (controlListen === undefined) return undefined;
  const listener = await openControl(controlListen, {
    ...createControls(parts),
    setNamedQuirk: (name, value) => setNamedQuirk(parts.server.quirks, name, value),
  });
  opened.push(listener);
  return listener.url;
}

/** Lets happen what is due: before each response. */
function advance({ scenario, world }: Parts): void {
  scenario.advance();
  advanceLiveness(world.state);
}

/** The service in a world in which time passes. */
function withScenario(parts: Parts, service: Service): Service {
  return {
    ...service,
    answer: (received) => {
      advance(parts);
      return service.answer(received);
    },
  };
}

import type { IncomingMessage, ServerResponse } from 'node:http';
import { createConfigPage } from './config-page.ts';
import { type NodeTargets, sendClusterTargets, sendNodeTargets } from './discovery.ts';
import { createGate } from './gate.ts';
import { type ScrapeSource, sendMetrics } from './metrics.ts';
import { type ProbedCluster, sendProbe } from './probe.ts';
import { type Reloaded, sendReload } from './reload.ts';
import type { Assets } from './status/assets.ts';
import type { History } from './status/history.ts';
import { createRenderCache } from './status/render-cache.ts';
import { createStatusRoutes } from './status/routes.ts';
import { sendText } from './text.ts';

export interface Route {
  readonly path: string;
  readonly methods: readonly string[];
  /** Asked by whoever watches the process; open to all unless told otherwise. */
  readonly isProbe?: boolean;
  readonly handle: (request: IncomingMessage, response: ServerResponse) => Promise<void> | void;
}

export interface RouteSources {
  readonly telemetryPath: string;
  readonly version: string;
  /** Scrapes of the telemetry path at a time; 0 for any number. */
  readonly maxRequests: number;
  /** Requests to /probe at a time; 0 for any number. */
  readonly maxProbes: number;
  readonly scrapeSource: ScrapeSource;
  /** True once every collector has had its first poll, or long enough to have it. */
  readonly isReady: () => boolean;
  /** Reads the configuration anew; undefined where that is not allowed over HTTP. */
  readonly reload: (() => Promise<Reloaded>) | undefined;
  /** The running configuration as it may be shown; the same object until it changes. */
  readonly describedConfig: () => unknown;
  readonly clusters: () => readonly ProbedCluster[];
  readonly history: History;
  readonly assets: Assets;
  /** Wall clock, ms. */
  readonly startedMs: number;
  readonly wallMs: () => number;
}

const READ = ['GET', 'HEAD'];

/** What is answered where; everything else is 404, another method 405. */
export function createRoutes(sources: RouteSources): readonly Route[] {
  const scrapes = createGate(sources.maxRequests, '--web.max-requests');
  const probes = createGate(sources.maxProbes, '--web.max-probes');
  const { clusters, assets, telemetryPath } = sources;
  const nodeTargets = createRenderCache<NodeTargets>(sources);
  const clusterTargets = createRenderCache(sources);
  const pages = { status: sources, assets, telemetryPath };
  return [
    {
      path: sources.telemetryPath,
      methods: READ,
      handle: (request, response) =>
        scrapes(response, () => sendMetrics(sources.scrapeSource, request, response)),
    },
    {
      path: '/-/healthy',
      isProbe: true,
      methods: READ,
      handle: (_request, response) => sendText(response, 200, 'crdb-exporter is healthy\n'),
    },
    {
      path: '/-/ready',
      isProbe: true,
      methods: READ,
      handle(_request, response) {
        if (sources.isReady()) sendText(response, 200, 'crdb-exporter is ready\n');
        else sendText(response, 503, 'first polls are still running\n');
      },
    },
    {
      path: '/-/reload',
      methods: ['POST', 'PUT'],
      handle: (request, response) => sendReload(sources.reload, request, response),
    },
    {
      path: '/probe',
      methods: READ,
      handle: (request, response) =>
        probes(response, () => sendProbe(clusters(), request, response)),
    },
    {
      path: '/sd/nodes',
      methods: READ,
      handle: (request, response) =>
        sendNodeTargets({ all: clusters(), cache: nodeTargets }, request, response),
    },
    {
      path: '/sd/clusters',
      methods: READ,
      handle: (request, response) =>
        sendClusterTargets({ clusters: clusters(), cache: clusterTargets }, request, response),
    },
    {
      path: '/config',
      methods: READ,
      handle: createConfigPage({ describedConfig: sources.describedConfig, pages }),
    },
    ...createStatusRoutes(pages),
  ];
}

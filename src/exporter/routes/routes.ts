import type { ServerResponse } from 'node:http';
import type { Config } from '#config';
import type { RenderedFamily } from '#metrics';
import type { Cluster } from '../cluster.ts';
import { createDiscoveryRoutes } from './discovery.ts';
import { chooseCollectors, sendExposition } from './metrics.ts';
import { createProbe } from './probe-route.ts';
import { isCrossSite, type Route, sendBusy, sendText } from './respond.ts';

type WebSettings = Pick<
  Config['web'],
  'telemetry_path' | 'external_url' | 'max_requests' | 'max_probes'
>;

interface RouteSources {
  readonly web: WebSettings;
  /** Names of all collectors. */
  readonly collectors: readonly string[];
  /** The content of a scrape of these collectors. */
  readonly scrape: (chosen: ReadonlySet<string>) => Promise<readonly RenderedFamily[]>;
  readonly clusters: () => readonly Cluster[];
  /** True once every collector has finished its first poll or had enough time for it. */
  readonly isReady: () => boolean;
  /** Reloads the configuration; undefined when reloads over HTTP are not allowed. */
  readonly reload: (() => Promise<ReloadOutcome>) | undefined;
}

/** What came of a reload. */
export interface ReloadOutcome {
  /** The errors of the files that were not loaded, which hold no secret; absent where all were. */
  readonly error?: string;
  /** Nothing was loaded, because the exporter ends. */
  readonly isStopping?: true;
  /** The settings that were loaded but have no effect yet. */
  readonly note?: string | undefined;
}

/** All paths of the daemon; a companion adds its own. */
export function createRoutes(sources: RouteSources): readonly Route[] {
  const { web, clusters } = sources;
  const limitScrapes = createConcurrencyLimit(web.max_requests);
  return [
    {
      path: web.telemetry_path,
      handle: (response) => limitScrapes(response, () => sendMetrics(sources, response)),
    },
    {
      path: '/-/healthy',
      isHealthCheck: true,
      handle: (response) => sendText(response, 200, 'crdb-exporter is healthy\n'),
    },
    {
      path: '/-/ready',
      isHealthCheck: true,
      handle(response) {
        if (sources.isReady()) sendText(response, 200, 'crdb-exporter is ready\n');
        else sendText(response, 503, 'first polls are still running\n');
      },
    },
    {
      path: '/-/reload',
      methods: ['POST', 'PUT'],
      handle: (response) => handleReload(sources.reload, web.external_url, response),
    },
    {
      path: '/probe',
      handle: createProbe(clusters, web.max_probes),
    },
    ...createDiscoveryRoutes(clusters),
  ];
}

/** Answers a scrape; `collect[]` and `exclude[]` choose collectors. */
async function sendMetrics(
  { collectors, scrape }: RouteSources,
  response: ServerResponse,
): Promise<void> {
  const chosen = chooseCollectors(response.req, collectors);
  if (chosen !== undefined) return sendExposition(await scrape(chosen), response);
  const known = collectors.join(', ');
  const text = `unknown collector in collect[] or exclude[]; known collectors: ${known}\n`;
  return sendText(response, 400, text);
}

/**
 * Runs a handler unless `max` of them run already; then it sends 503. 0 is no limit. A client that reads slowly does not
 * count: the handler has ended when it has handed over the response.
 */
export function createConcurrencyLimit(max: number) {
  let running = 0;
  return async (response: ServerResponse, handle: () => Promise<void>): Promise<void> => {
    if (max > 0 && running >= max) {
      sendBusy(response, '--web.max-requests');
      return;
    }
    running += 1;
    try {
      await handle();
    } finally {
      running -= 1;
    }
  };
}

async function handleReload(
  reload: RouteSources['reload'],
  externalUrl: string,
  response: ServerResponse,
) {
  if (reload === undefined) {
    sendText(response, 403, 'reload over HTTP is disabled: start with --web.enable-lifecycle\n');
  } else if (isCrossSite(response.req, externalUrl)) {
    const text =
      'reload is refused for pages of other sites: use a client such as curl, or set --web.external-url\n';
    sendText(response, 403, text);
  } else {
    const { isStopping, error, note } = await reload();
    const done = note === undefined ? '' : `; ${note}`;
    if (error === undefined) sendText(response, 200, `configuration reloaded${done}\n`);
    else sendText(response, isStopping ? 503 : 400, `${error}\n`);
  }
}

import type { IncomingMessage, ServerResponse } from 'node:http';
import { type RenderedFamily, renderFamilies } from '../metrics/snapshot.ts';
import { sendUnknownCluster } from './discovery.ts';
import { sendExposition } from './metrics.ts';
import { readParameters } from './parameters.ts';
import type { ClusterSource } from './status/source.ts';
import { sendText } from './text.ts';

/** A cluster that can be polled on demand. */
export interface ProbedCluster extends ClusterSource {
  pollNow(isChosen: (collector: string) => boolean, waitMs: number): Promise<void>;
}

/** They cost a cluster much: polled on demand only when somebody names them. */
const ONLY_WHEN_NAMED: ReadonlySet<string> = new Set(['ranges', 'tables']);
/** What of the outcomes belongs to a probe. */
const OUTCOME = /^crdb_(?:up$|exporter_(?:collector_|series$))/;
const TIMEOUT_HEADER = 'x-prometheus-scrape-timeout-seconds';
/** For the way of the answer, before Prometheus gives up. */
const ANSWER_MS = 500;
/** Without a deadline of the scraper the timeouts of the collectors count; this is beyond all sensible ones. */
const LONGEST_MS = 600_000;
const SHORTEST_MS = 100;

/** Polls a configured cluster, known by its name alone, and answers with its data. Failures are in the data, too. */
export async function sendProbe(
  clusters: readonly ProbedCluster[],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const parameters = readParameters(request);
  const cluster = clusters.find(({ name }) => name === parameters.get('cluster'));
  if (cluster === undefined) {
    sendUnknownCluster(response, clusters);
    return;
  }
  const known = cluster.pollers.map(({ plan }) => plan.collector);
  const named = parameters.getAll('collect[]');
  const strange = named.filter((name) => !known.includes(name));
  if (strange.length > 0) {
    const text = `collect[] names a collector that is not enabled for this cluster; there are ${known.join(', ')}\n`;
    sendText(response, 400, text);
    return;
  }
  const isChosen = (collector: string): boolean =>
    named.length === 0 ? !ONLY_WHEN_NAMED.has(collector) : named.includes(collector);
  await cluster.pollNow(isChosen, readWaitMs(request));
  if (response.closed) return;
  const scraped = { parts: cluster.snapshots(isChosen), rendered: outcomesOf(cluster, isChosen) };
  sendExposition(scraped, request, response);
}

function outcomesOf(
  cluster: ClusterSource,
  isChosen: (collector: string) => boolean,
): readonly RenderedFamily[] {
  return renderFamilies(cluster.outcomes(isChosen)).filter(({ family }) =>
    OUTCOME.test(family.name),
  );
}

function readWaitMs({ headers }: IncomingMessage): number {
  const seconds = Number(headers[TIMEOUT_HEADER]);
  if (!(seconds > 0)) return LONGEST_MS;
  return Math.min(LONGEST_MS, Math.max(SHORTEST_MS, seconds * 1000 - ANSWER_MS));
}

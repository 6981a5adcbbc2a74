import type { IncomingMessage, ServerResponse } from 'node:http';
import { renderFamilies } from '../metrics/snapshot.ts';
import { chooseCollectors, sendExposition } from './metrics.ts';
import { readParameters, sendText, sendUnknownCluster } from './respond.ts';
import type { ClusterSource } from './status/cluster.ts';

/** The outcomes that belong to a probe. */
const OUTCOME = /^crdb_(?:up$|exporter_(?:collector_|series$))/;
const TIMEOUT_HEADER = 'x-prometheus-scrape-timeout-seconds';
/** Left for sending the response before Prometheus gives up. */
const RESPONSE_MS = 500;
/** Without a deadline of the scraper the timeouts of the collectors apply; this is longer than any sensible one. */
const MAX_WAIT_MS = 600_000;
const MIN_WAIT_MS = 100;

/** Polls a configured cluster and sends its data, which includes failures. */
export async function sendProbe(clusters: readonly ClusterSource[], response: ServerResponse) {
  const request = response.req;
  const wanted = readParameters(request).get('cluster') ?? '';
  if (wanted === '') {
    const names = clusters.map(({ name }) => name).join(', ');
    const text = `the parameter cluster is missing: /probe?cluster=NAME; configured clusters: ${names}\n`;
    sendText(response, 400, text);
    return;
  }
  const cluster = clusters.find(({ name }) => name === wanted);
  if (cluster === undefined) {
    sendUnknownCluster(response, clusters);
    return;
  }
  const collectors = cluster.pollers.map(({ collector }) => collector);
  const enabled = collectors.map(({ name }) => name);
  const byDefault = collectors.filter(({ inProbe }) => inProbe).map(({ name }) => name);
  const isChosen = chooseCollectors(request, enabled, byDefault);
  if (isChosen === undefined) {
    const text = `collector in collect[] or exclude[] is not enabled for this cluster; enabled collectors: ${enabled.join(', ')}\n`;
    sendText(response, 400, text);
    return;
  }
  await cluster.pollNow(isChosen, readWaitMs(request));
  if (response.closed) return;
  const outcomes = renderFamilies(cluster.metrics(isChosen));
  const shown = outcomes.filter(({ family }) => OUTCOME.test(family.name));
  sendExposition([...cluster.families(isChosen), ...shown], response);
}

function readWaitMs({ headers }: IncomingMessage): number {
  const seconds = Number(headers[TIMEOUT_HEADER]);
  if (!(seconds > 0)) return MAX_WAIT_MS;
  return Math.min(MAX_WAIT_MS, Math.max(MIN_WAIT_MS, seconds * 1000 - RESPONSE_MS));
}

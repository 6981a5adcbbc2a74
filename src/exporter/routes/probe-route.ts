import type { IncomingMessage, ServerResponse } from 'node:http';
import { renderFamilies } from '#metrics';
import type { Cluster } from '../cluster.ts';
import { measureCluster } from '../measure-cluster.ts';
import { chooseCollectors, sendExposition } from './metrics.ts';
import {
  readParameters,
  refusesRepeated,
  sendText,
  sendBusy,
  sendUnknownCluster,
} from './respond.ts';

/** The metrics of polls that belong to a probe. */
const OUTCOME = /^crdb_(?:up$|exporter_(?:collector_|series$))/;
const TIMEOUT_HEADER = 'x-prometheus-scrape-timeout-seconds';
/** Left for sending the response before Prometheus gives up. */
const RESPONSE_MS = 500;
/** The wait for a scraper that names no timeout: longer than any sensible timeout of a collector, which ends the poll. */
const MAX_WAIT_MS = 600_000;
const MIN_WAIT_MS = 100;

/**
 * Makes the handler of /probe: it polls a configured cluster and sends its data, which includes failures. At most `maxWaits`
 * different sets of collectors (0: any number) may have begun polls of a cluster that requests still wait for. Requests for the
 * same set share one, and a request that begins no poll costs the cluster nothing and is not counted. Many requests for a
 * slow cluster then take no place from others.
 */
export function createProbe(clusters: () => readonly Cluster[], maxWaits: number) {
  const waiting = new Set<{ readonly cluster: string; readonly collectors: string }>();

  /** Whether other sets of collectors have taken all places of the cluster. */
  function isFull({ cluster, collectors }: { cluster: string; collectors: string }): boolean {
    const others = [...waiting].filter((other) => other.cluster === cluster);
    const sets = new Set(others.map((other) => other.collectors));
    return maxWaits > 0 && sets.size >= maxWaits && !sets.has(collectors);
  }

  async function wait(cluster: Cluster, chosen: ReadonlySet<string>, response: ServerResponse) {
    const request = { cluster: cluster.name, collectors: [...chosen].toSorted().join(',') };
    if (cluster.wouldPoll(chosen)) {
      if (isFull(request)) {
        sendBusy(response, '--web.max-probes');
        return;
      }
      waiting.add(request);
    }
    const clientLeft = new Promise<void>((resolve) => response.once('close', resolve));
    try {
      await Promise.race([cluster.pollNow(chosen, readWaitMs(response.req)), clientLeft]);
    } finally {
      waiting.delete(request);
    }
  }

  return async (response: ServerResponse): Promise<void> => {
    const request = readRequest(clusters(), response);
    if (request === undefined) return;
    const { cluster, chosen } = request;
    await wait(cluster, chosen, response);
    if (!response.headersSent && !response.closed) sendData(cluster, chosen, response);
  };
}

/** The cluster and the names of the collectors that the request asks for; undefined when it was answered with an error. */
function readRequest(clusters: readonly Cluster[], response: ServerResponse) {
  const request = response.req;
  if (refusesRepeated(response, 'cluster')) return undefined;
  const wanted = readParameters(request).get('cluster') ?? '';
  if (wanted === '') {
    const names = clusters.map(({ name }) => name).join(', ');
    const text = `the parameter cluster is missing: /probe?cluster=NAME; configured clusters: ${names}\n`;
    sendText(response, 400, text);
    return undefined;
  }
  const cluster = clusters.find(({ name }) => name === wanted);
  if (cluster === undefined) {
    sendUnknownCluster(response, clusters);
    return undefined;
  }
  const collectors = cluster.pollers.map(({ collector }) => collector);
  const enabled = collectors.map(({ name }) => name);
  const byDefault = collectors.filter(({ inProbe }) => inProbe).map(({ name }) => name);
  const chosen = chooseCollectors(request, enabled, byDefault);
  if (chosen === undefined) {
    const text = `collector in collect[] or exclude[] is not enabled for this cluster; enabled collectors: ${enabled.join(', ')}\n`;
    sendText(response, 400, text);
    return undefined;
  }
  return { cluster, chosen };
}

/** Sends the data that is young enough, and the outcomes of the last polls. */
function sendData(cluster: Cluster, chosen: ReadonlySet<string>, response: ServerResponse): void {
  // crdb_up is 0 for a probe that ends before the first poll has.
  const outcomes = renderFamilies(measureCluster(cluster, chosen, 0));
  const shown = outcomes.filter(({ family }) => OUTCOME.test(family.name));
  sendExposition([...cluster.families(chosen), ...shown], response);
}

function readWaitMs({ headers }: IncomingMessage): number {
  const seconds = Number(headers[TIMEOUT_HEADER]);
  if (!(seconds > 0)) return MAX_WAIT_MS;
  return Math.min(MAX_WAIT_MS, Math.max(MIN_WAIT_MS, seconds * 1000 - RESPONSE_MS));
}

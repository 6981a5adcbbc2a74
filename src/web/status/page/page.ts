import { clusterDetails } from './cluster-details.ts';
import { html, type Html } from './html.ts';
import { age, mark, sayMoment } from './marks.ts';
import type { ClusterStatus, Status } from '../status.ts';
import { sayNumber } from '../words.ts';

const STATE_WORDS: Readonly<Record<ClusterStatus['state'], string>> = {
  well: 'is well',
  warning: 'needs attention',
  trouble: 'is in trouble',
  unknown: 'has not been seen yet',
};
const WORST_FIRST: readonly ClusterStatus['state'][] = ['trouble', 'warning', 'unknown', 'well'];

/** Where the pages get their looks from; the text behind the ? changes with the content. */
export interface AssetPaths {
  readonly style: string;
  readonly script: string;
  readonly icon: string;
}

export interface PageOptions {
  readonly assets: AssetPaths;
  readonly telemetryPath: string;
  /** The cluster to show; by default the one that is worst off. */
  readonly cluster: string | undefined;
}

/** The status page: every cluster in a line, one of them in full. */
export function renderPage(status: Status, options: PageOptions): string {
  const nowMs = Date.parse(status.at);
  const shown = chooseCluster(status.clusters, options.cluster);
  const body = html`<main id="main">
    ${status.clusters.length > 1 && clusterTabs(status, shown)}${
      shown === undefined
        ? html`<h2>No cluster is configured</h2>`
        : html`${headline(shown, status, nowMs)}${clusterDetails(shown, nowMs)}`
    }
  </main>`;
  const title = shown === undefined ? 'crdb-exporter' : `${shown.name} ${STATE_WORDS[shown.state]}`;
  return frame({ title, body, exporter: status, ...options });
}

/** The page around any content, with the links to everything else. */
export function frame(page: {
  readonly title: string;
  readonly body: Html;
  readonly exporter: Pick<Status, 'version' | 'startedAt' | 'at'>;
  readonly assets: AssetPaths;
  readonly telemetryPath: string;
}): string {
  const { title, body, exporter, assets, telemetryPath } = page;
  const { version, startedAt, at } = exporter;
  const nowMs = Date.parse(at);
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title} · crdb-exporter</title>
        <link rel="icon" href="${assets.icon}" type="image/svg+xml" />
        <link rel="stylesheet" href="${assets.style}" />
        <script src="${assets.script}" defer></script>
      </head>
      <body>
        <a class="skip" href="#main">Skip to the content</a>
        <header>
          <h1><a href="/">crdb-exporter</a></h1>
          <p class="quiet">${version} · up ${age(startedAt, nowMs)}</p>
          <nav aria-label="All pages">
            <a href="${telemetryPath}">Metrics</a> <a href="/api/status">Status as JSON</a>
            <a href="/config">Configuration</a> <a href="/sd/nodes">Discovery: nodes</a>
            <a href="/sd/clusters">clusters</a> <a href="/-/healthy">Health</a>
            <a href="/-/ready">Readiness</a>
          </nav>
        </header>
        ${body}
        <footer>
          <p>
            As of <data id="at" value="${at}">${sayMoment(at)}</data>. <a href="">Refresh</a>
            <span id="live" role="status"></span>
          </p>
        </footer>
      </body>
    </html> `.text;
}

function chooseCluster(
  clusters: readonly ClusterStatus[],
  name: string | undefined,
): ClusterStatus | undefined {
  const named = clusters.find((cluster) => cluster.name === name);
  return named ?? clusters.toSorted((a, b) => rankOf(a) - rankOf(b))[0];
}

function rankOf({ state }: ClusterStatus): number {
  return WORST_FIRST.indexOf(state);
}

function clusterTabs({ clusters }: Status, shown: ClusterStatus | undefined): Html {
  return html`<nav class="tabs" aria-label="Clusters">
    ${clusters.map(
      (cluster) =>
        html`<a
          href="/?cluster=${encodeURIComponent(cluster.name)}"
          ${cluster === shown && html` aria-current="page"`}
          >${mark(cluster.state)} <b>${cluster.name}</b>
          <span>${STATE_WORDS[cluster.state]}${sayNodes(cluster)}</span></a
        >`,
    )}
  </nav>`;
}

function sayNodes({ nodes }: ClusterStatus): string {
  if (nodes === undefined) return '';
  return `, ${nodes.byStatus['live'] ?? 0} of ${sayNumber(nodes.list.length)} nodes live`;
}

function headline(cluster: ClusterStatus, status: Status, nowMs: number): Html {
  const { name, state, since } = cluster;
  return html`<section class="headline ${state}" aria-labelledby="verdict">
    <h2 id="verdict">${mark(state)} ${name} ${STATE_WORDS[state]}</h2>
    <p>for ${age(since, nowMs)}, as far as this exporter has seen. ${sayExporter(status)}</p>
  </section>`;
}

function sayExporter({ collectors: { good, failing, waiting } }: Status): string {
  const all = good + failing + waiting;
  if (failing > 0) return `The exporter: ${failing} of ${all} collectors fail.`;
  if (waiting > 0) return `The exporter: ${waiting} of ${all} collectors have not polled yet.`;
  return `The exporter is well: all ${all} collectors are good.`;
}

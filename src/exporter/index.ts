// The daemon: clusters, pollers, web server. It runs without `status`, which is told of each poll.
export { type CatalogueEntry, listCatalogue } from './catalogue.ts';
export { type Clients, createClients } from './clients.ts';
export { Cluster } from './cluster.ts';
export type { Companion, Daemon } from './companion.ts';
export { Exporter, type ExporterOptions } from './exporter.ts';
export type { CollectorState, Observation, QueryState, WatchProblem } from './observation.ts';
export { measureCluster } from './measure-cluster.ts';
export { type ApiState, formatAdvice, readApis, readCollector } from './poll-problems.ts';
export { logChanges } from './problem-log.ts';
export { readQueries } from './query-problems.ts';
export {
  isForeignHost,
  readParameters,
  refusesRepeated,
  type Route,
  send,
  sendJson,
  sendPage,
  sendText,
  sendUnknownCluster,
  toJson,
} from './routes/respond.ts';
export { WatchHistory } from './watch-history.ts';

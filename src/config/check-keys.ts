import { findWrongOrders } from '#alerts';
import type { AcceptedCluster, AcceptedParts } from './accepted-parts.ts';
import { checkQueries, type MetricTypes } from './check-queries.ts';
import type { CollectorConfig } from './collector-schema.ts';
import type { Path, Reporter, SourceDocument } from './document.ts';
import { quote } from './issues.ts';
import type { FileConfig } from './keys-and-flags.ts';
import { writeDuration } from './values.ts';

/**
 * Reports keys that contradict each other, as a username without a password. Values are compared where the schema accepted
 * them. Which keys a cluster lacks is known in spite of wrong values, but not beside an unknown key, which may be that one.
 */
export function checkKeys(parts: AcceptedParts, document: SourceDocument): void {
  const { shard, thresholds, clusters, collectors: common } = parts;
  if (shard !== undefined) checkShard(shard, document.reporterOf(['shard']));
  for (const { critical, message } of findWrongOrders(thresholds ?? {})) {
    document.reporterOf(['thresholds']).report(message, critical);
  }
  checkNames(clusters, document);
  const types: MetricTypes = new Map();
  for (const [name, settings] of Object.entries(common)) {
    if (settings === undefined) continue;
    checkQueries(settings, document, ['collectors', name], types);
    checkAge(settings, settings, document.reporterOf(['collectors', name]));
  }
  for (const [index, { collectors }] of clusters.entries()) {
    const path = ['clusters', index];
    checkCollectors(collectors, common, document, path, types);
    checkCluster(document, path);
    checkRoute(common, collectors, document, [...path, 'cluster_api']);
  }
}

/** Checks the settings of collectors in a cluster together with those for all, where both are known. */
function checkCollectors(
  collectors: AcceptedCluster['collectors'],
  common: AcceptedParts['collectors'],
  document: SourceDocument,
  path: Path,
  types: MetricTypes,
): void {
  for (const [name, settings] of Object.entries(collectors)) {
    const usual = common[name];
    if (settings === undefined || usual === undefined) continue;
    const isOwn = settings['queries'] !== undefined;
    const queriesPath = [...(isOwn ? path : []), 'collectors', name];
    const all = { ...usual, ...settings };
    checkQueries(all, document, queriesPath, types);
    checkAge(all, settings, document.reporterOf([...path, 'collectors', name]));
  }
}

function checkShard({ index, count }: FileConfig['shard'], reporter: Reporter): void {
  if (index < count) return;
  const range = `shards count from 0 to ${count - 1}`;
  reporter.report(`the index ${index} is not below the count ${count}: ${range}`, 'index');
}

function checkNames(clusters: readonly AcceptedCluster[], document: SourceDocument): void {
  const firsts = new Map<string, number>();
  for (const [index, { name }] of clusters.entries()) {
    if (name === undefined) continue;
    const first = firsts.get(name);
    firsts.set(name, first ?? index);
    if (first === undefined) continue;
    const { line } = document.positionOf(['clusters', first, 'name']);
    const message = `the name ${quote(name)} is taken by the cluster in line ${line}: names must differ`;
    document.reporterOf(['clusters', index]).report(message, 'name');
  }
}

/** Checks which keys are written for the APIs of a cluster. */
function checkCluster(document: SourceDocument, path: Path): void {
  const cluster = document.mapAt(path);
  if (cluster !== undefined && !('cluster_api' in cluster) && !('cloud_api' in cluster)) {
    document.reporterOf(path).report('a cluster needs cluster_api or cloud_api or both');
  }
  const clusterPath = [...path, 'cluster_api'];
  const clusterApi = document.mapAt(clusterPath);
  if (clusterApi !== undefined) {
    const reporter = document.reporterOf(clusterPath);
    for (const name of ['password', 'token']) {
      checkOneOf(writtenKeys(clusterApi, name), document, clusterPath);
    }
    checkLogin(clusterApi, reporter);
  }
  const tlsPath = [...clusterPath, 'tls'];
  checkTls(document.mapAt(tlsPath) ?? {}, document.reporterOf(tlsPath));
  const cloudApi = document.mapAt([...path, 'cloud_api']);
  if (cloudApi !== undefined) {
    const reporter = document.reporterOf([...path, 'cloud_api']);
    const keys = writtenKeys(cloudApi, 'token');
    checkOneOf(keys, document, [...path, 'cloud_api']);
    if (keys.length === 0) {
      reporter.report('a token is missing: set token_file, token_env or token');
    }
  }
}

function checkRoute(
  common: AcceptedParts['collectors'],
  ofCluster: AcceptedCluster['collectors'],
  document: SourceDocument,
  path: Path,
): void {
  const urls = document.valueAt([...path, 'urls']);
  if (!Array.isArray(urls) || urls.length < 2 || !isRouteLocal(common, ofCluster)) return;
  const message = `${urls.length} URLs with \`route: local\`: name only the node beside this exporter`;
  document.reporterOf(path).report(message, 'urls');
}

/** Whether a cluster reads only the ranges of the node beside the exporter, by the common settings and its own. */
export function isRouteLocal(
  { ranges: usual }: AcceptedParts['collectors'],
  { ranges: own }: AcceptedCluster['collectors'],
): boolean {
  if (usual === undefined || own === undefined) return false;
  return (own['route'] ?? usual['route']) === 'local';
}

/** Data that is older than `max_age` before the next poll begins would come and go. `written` are the settings of this place. */
function checkAge(
  { max_age: age, interval }: Partial<CollectorConfig>,
  written: Partial<CollectorConfig>,
  reporter: Reporter,
): void {
  if (age === undefined || interval === undefined || age >= interval) return;
  const { max_age: ownAge, interval: ownInterval } = written;
  const message = `${writeDuration(age)} is shorter than the interval, ${writeDuration(interval)}: raise max_age, or leave it out`;
  if (ownAge !== undefined) reporter.report(message, 'max_age');
  else if (ownInterval !== undefined) {
    const longer = `${writeDuration(interval)} is longer than max_age, ${writeDuration(age)}: raise that one, too`;
    reporter.report(longer, 'interval');
  }
}

/** A map as it is written, or its values. */
export type Keys = Readonly<Record<string, unknown>>;

/** The keys that give a secret, as `password`, `password_file` and `password_env`; those that are written. */
export function writtenKeys(api: Keys, name: string): string[] {
  return [name, `${name}_file`, `${name}_env`].filter((key) => api[key] !== undefined);
}

function checkOneOf(
  [first = '', ...others]: readonly string[],
  document: SourceDocument,
  path: Path,
): void {
  const { source } = document.positionOf([...path, first]);
  for (const other of others) {
    const isElsewhere = document.positionOf([...path, other]).source !== source;
    const where = isElsewhere ? ` of ${source}` : '';
    const message = `${other} beside ${first}${where}: keep one of them`;
    document.reporterOf(path).report(message, other);
  }
}

function checkLogin(api: Keys, reporter: Reporter): void {
  const hasUser = api['username'] !== undefined;
  const [password] = writtenKeys(api, 'password');
  const [token] = writtenKeys(api, 'token');
  if (hasUser && token !== undefined) {
    reporter.report('a token beside a username: keep one way to log in', token);
  } else if (hasUser && password === undefined) {
    const remedy = 'add password_file, password_env or password';
    reporter.report(`a username without password: ${remedy}`, 'username');
  } else if (!hasUser && password !== undefined) {
    reporter.report('a password without username: add username', password);
  }
}

function checkTls(tls: Keys, reporter: Reporter): void {
  const needsBoth = 'a client certificate needs both';
  if (tls['cert_file'] !== undefined && tls['key_file'] === undefined) {
    reporter.report(`cert_file without key_file: ${needsBoth}`, 'cert_file');
  }
  if (tls['key_file'] !== undefined && tls['cert_file'] === undefined) {
    reporter.report(`key_file without cert_file: ${needsBoth}`, 'key_file');
  }
  if (tls['insecure_skip_verify'] === true) {
    const message = 'node certificates are not verified, so anyone on the network path can read';
    reporter.warn(`${message} the password: set ca_file instead`, 'insecure_skip_verify');
  }
}

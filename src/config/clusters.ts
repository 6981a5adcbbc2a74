import { readProxies, isLoopback } from './addresses.ts';
import type { CollectorConfig, CollectorOptions } from './cluster-schema.ts';
import { quote } from './issues.ts';
import type {
  CloudApiConfig,
  ClusterApiConfig,
  ClusterConfig,
  FileCluster,
  FileConfig,
  TlsConfig,
} from './schema.ts';
import { type Environment, writtenKeys, readSecret, Secret } from './secret.ts';
import { checkClientTls } from './tls-files.ts';
import type { AnySection, Section } from './validate.ts';

// The rules of a cluster that go beyond one key, and the files and variables that its keys name. Where a problem was
// reported, a value may be missing that the types promise: such a load ends in an error.

/**
 * Checks and completes the list `clusters`. With `onlyCluster`, secrets and TLS files of the other clusters are not read:
 * whoever queries one cluster needs no secrets of others.
 */
export async function readClusters(
  list: Section<FileConfig['clusters']>,
  collectors: readonly CollectorOptions[],
  env: Environment,
  onlyCluster: string | undefined,
): Promise<ClusterConfig[]> {
  const sections = list.items();
  reportSameNames(sections);
  const clusters: ClusterConfig[] = [];
  for (const section of sections) {
    const isUsed = onlyCluster === undefined || section.values.name === onlyCluster;
    clusters.push(await readCluster(section, collectors, env, isUsed));
  }
  return clusters;
}

function reportSameNames(sections: readonly Section<FileCluster>[]): void {
  const lines = new Map<string, number | undefined>();
  for (const section of sections) {
    const { name } = section.values;
    if (name === undefined) continue;
    if (lines.has(name)) {
      const message = `the name ${quote(name)} is taken by the cluster in line ${lines.get(name)}`;
      section.report(`${message}: names must differ`, 'name');
    }
    lines.set(name, lines.get(name) ?? section.positionOf('name').line);
  }
}

async function readCluster(
  section: Section<FileCluster>,
  collectors: readonly CollectorOptions[],
  env: Environment,
  isUsed: boolean,
): Promise<ClusterConfig> {
  const apis = { cluster: section.has('cluster_api'), cloud: section.has('cloud_api') };
  if (!apis.cluster && !apis.cloud) {
    section.report('a cluster needs cluster_api or cloud_api or both');
  }
  const cluster_api = apis.cluster
    ? await readClusterApi(section.member('cluster_api'), env, isUsed)
    : undefined;
  const cloud_api = apis.cloud
    ? await readCloudApi(section.member('cloud_api'), env, isUsed)
    : undefined;
  const urls = [...(cluster_api?.urls ?? []), ...(cloud_api ? [cloud_api.url] : [])];
  checkLocalRoute(section);
  return {
    ...section.allValues,
    cluster_api,
    cloud_api,
    proxy: readProxies(urls, env, section.issues),
    collectors: chooseCollectors(section.member('collectors'), collectors, apis),
  };
}

/** Enables a collector only where its API is configured. */
function chooseCollectors(
  section: Section<FileCluster['collectors']>,
  collectors: readonly CollectorOptions[],
  apis: Readonly<Record<CollectorOptions['api'], boolean>>,
): Record<string, CollectorConfig> {
  const all = section.allValues;
  const isLocal = all['ranges']?.['route'] === 'local';
  const entries = collectors.flatMap(({ name, api }) => {
    const settings = all[name];
    if (settings === undefined) return [];
    // An exporter beside each node reads only the ranges of that node, unless more is enabled explicitly.
    const isChosen = !isLocal || name === 'ranges' || section.member(name).has('enabled');
    return [[name, { ...settings, enabled: settings.enabled && apis[api] && isChosen }] as const];
  });
  return Object.fromEntries(entries);
}

function checkLocalRoute(section: Section<FileCluster>): void {
  const api = section.member('cluster_api');
  const count = api.values.urls?.length ?? 0;
  if (count < 2 || section.values.collectors?.['ranges']?.['route'] !== 'local') return;
  const message = `${count} URLs with \`route: local\`: name only the node beside this exporter`;
  api.report(message, 'urls');
}

async function readClusterApi(
  section: Section<NonNullable<FileCluster['cluster_api']>>,
  env: Environment,
  isUsed: boolean,
): Promise<ClusterApiConfig> {
  checkLogin(section);
  warnOfPlainText(section, section.values.urls);
  if (isUsed) await checkTls(section.member('tls'));
  const {
    password_file: _,
    password_env: _1,
    token_file: _2,
    token_env: _3,
    ...values
  } = section.allValues;
  const password = isUsed ? await readSecret(section, 'password', env) : undefined;
  const token = isUsed ? await readSecret(section, 'token', env) : undefined;
  return { ...values, password, token };
}

async function readCloudApi(
  section: Section<NonNullable<FileCluster['cloud_api']>>,
  env: Environment,
  isUsed: boolean,
): Promise<CloudApiConfig> {
  const token = isUsed ? await readSecret(section, 'token', env) : undefined;
  const { token_file: _, token_env: _1, ...values } = section.allValues;
  if (writtenKeys(section, 'token').length === 0) {
    section.report('a token is missing: set token_file, token_env or token');
  }
  warnOfPlainText(section, [section.values.url]);
  return { ...values, token: token ?? Secret.fromText('') };
}

function checkLogin(section: AnySection): void {
  const hasUser = section.has('username');
  const [password] = writtenKeys(section, 'password');
  const [token] = writtenKeys(section, 'token');
  if (hasUser && token !== undefined) {
    section.report('a token beside a username: keep one way to log in', token);
  } else if (hasUser && password === undefined) {
    const remedy = 'add password_file, password_env or password';
    section.report(`a username without password: ${remedy}`, 'username');
  }
  if (!hasUser && password !== undefined) {
    section.report('a password without username: add username', password);
  }
}

/** Warns when a credential goes unencrypted to another host. */
function warnOfPlainText(section: AnySection, urls: readonly (string | undefined)[] = []): void {
  if (!section.has('username') && writtenKeys(section, 'token').length === 0) return;
  const url = urls.find((one) => one?.startsWith('http:') && !isLoopback(one));
  if (url === undefined) return;
  section.warn(`credentials are sent in plain text to ${new URL(url).origin}: use https://`);
}

/** The files are read again when they are used; what is wrong with them now is reported now. */
async function checkTls(section: Section<TlsConfig>): Promise<void> {
  const halves = ['cert_file', 'key_file'] as const;
  const missing = halves.find((key) => !section.has(key));
  const present = halves.find((key) => section.has(key));
  if (missing !== undefined && present !== undefined) {
    section.report(`${present} without ${missing}: a client certificate needs both`, present);
  }
  await checkClientTls(section);
  if (section.values.insecure_skip_verify) {
    const message = 'node certificates are not verified, so anyone on the network path can read';
    section.warn(`${message} the password: set ca_file instead`, 'insecure_skip_verify');
  }
}

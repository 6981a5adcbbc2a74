import { isPlainText } from './addresses.ts';
import type { CollectorConfig, CollectorOptions } from './collector-schema.ts';
import { warnOfSecretFile } from './files.ts';
import { quote } from './issues.ts';
import { readProxies } from './proxy.ts';
import type {
  CloudApiConfig,
  ClusterApiConfig,
  ClusterConfig,
  FileCloudApi,
  FileCluster,
  FileClusterApi,
  FileConfig,
  TlsConfig,
} from './schema.ts';
import { type Environment, givenKeys, readSecret, Secret } from './secret.ts';
import { checkCas, checkIdentity, readPem } from './tls-files.ts';
import type { AnySection, Section } from './validate.ts';

// The rules of a cluster that go beyond one key, and the files and variables that its keys name. Where a problem was
// reported, a value may be missing that the types promise: such a load ends in an error.

/** Checks and completes the list `clusters`. */
export async function readClusters(
  list: Section<FileConfig['clusters']>,
  collectors: readonly CollectorOptions[],
  env: Environment,
): Promise<ClusterConfig[]> {
  const sections = list.items();
  reportSameNames(sections);
  const clusters: ClusterConfig[] = [];
  for (const section of sections) clusters.push(await readCluster(section, collectors, env));
  return clusters;
}

function reportSameNames(sections: readonly Section<FileCluster>[]): void {
  const lines = new Map<string, number | undefined>();
  for (const section of sections) {
    const { name } = section.values;
    if (name === undefined) continue;
    if (lines.has(name)) {
      const message = `the name ${quote(name)} is taken by the cluster in line ${lines.get(name)}`;
      section.report('name', `${message}: names must differ`);
    } else {
      lines.set(name, section.placeOf('name').line);
    }
  }
}

async function readCluster(
  section: Section<FileCluster>,
  collectors: readonly CollectorOptions[],
  env: Environment,
): Promise<ClusterConfig> {
  const apis = { cluster: section.has('cluster_api'), cloud: section.has('cloud_api') };
  if (!apis.cluster && !apis.cloud) {
    const message = 'a cluster needs cluster_api or cloud_api or both';
    section.issues.report(section.place, message);
  }
  const cluster_api = apis.cluster
    ? await readClusterApi(section.member('cluster_api'), env)
    : undefined;
  const cloud_api = apis.cloud ? await readCloudApi(section.member('cloud_api'), env) : undefined;
  const urls = [...(cluster_api?.urls ?? []), ...(cloud_api ? [cloud_api.url] : [])];
  const { name, poll } = section.allValues;
  checkLocalRoute(section);
  return {
    name,
    cluster_api,
    cloud_api,
    proxy: readProxies(urls, env, section.issues),
    poll,
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
  api.report('urls', message);
}

async function readClusterApi(
  section: Section<FileClusterApi>,
  env: Environment,
): Promise<ClusterApiConfig> {
  checkLogin(section);
  warnOfPlainText(section, section.values.urls, ['username', ...givenKeys(section, 'token')]);
  const tls = await readTls(section.member('tls'));
  const {
    password_file: _,
    password_env: _1,
    token_file: _2,
    token_env: _3,
    ...values
  } = section.allValues;
  const password = await readSecret(section, 'password', env);
  return { ...values, password, token: await readSecret(section, 'token', env), tls };
}

async function readCloudApi(
  section: Section<FileCloudApi>,
  env: Environment,
): Promise<CloudApiConfig> {
  const token = await readSecret(section, 'token', env);
  const { token_file: _, token_env: _1, ...values } = section.allValues;
  if (token === undefined && givenKeys(section, 'token').length === 0) {
    const message = 'a token is missing: set token_file, token_env or token';
    section.issues.report(section.place, message);
  }
  warnOfPlainText(section, [section.values.url], givenKeys(section, 'token'));
  return { ...values, token: token ?? Secret.fromText('', 'nothing') };
}

function checkLogin(section: Section<FileClusterApi>): void {
  const hasUser = section.has('username');
  const [password] = givenKeys(section, 'password');
  const [token] = givenKeys(section, 'token');
  const { issues } = section;
  const at = (key: string) => (section as AnySection).placeOf(key);
  if (hasUser && token !== undefined) {
    issues.report(at(token), 'a token beside a username: keep one way to log in');
  } else if (hasUser && password === undefined) {
    const remedy = 'add password_file, password_env or password';
    section.report('username', `a username without password: ${remedy}`);
  }
  if (!hasUser && password !== undefined) {
    issues.report(at(password), 'a password without username: add username');
  }
}

/** Warns when a credential goes unencrypted to another host. */
function warnOfPlainText(
  section: AnySection,
  urls: readonly (string | undefined)[] | undefined,
  credentials: readonly string[],
): void {
  if (!credentials.some((key) => section.has(key))) return;
  const url = urls?.find((one) => one !== undefined && isPlainText(one));
  if (url === undefined) return;
  const message = `credentials are sent in plain text to ${new URL(url).origin}: use https://`;
  section.issues.warn(section.place, message);
}

/** The files are read again when they are used; what is wrong with them now is reported now. */
async function readTls(section: Section<TlsConfig>): Promise<TlsConfig> {
  reportMissingHalf(section, 'cert_file', 'key_file');
  reportMissingHalf(section, 'key_file', 'cert_file');
  const { key_file, insecure_skip_verify } = section.values;
  const cas = await readPem(section, 'ca');
  const certificates = await readPem(section, 'cert');
  const key = await readPem(section, 'key');
  if (cas) checkCas(cas, section.issues);
  if (certificates && key) checkIdentity({ certificates, key }, section.issues);
  if (key && key_file) await warnOfSecretFile(key_file, key.place, section.issues);
  if (insecure_skip_verify) {
    const message = 'the certificates of the nodes are not checked, so anybody on the way can read';
    section.warn('insecure_skip_verify', `${message} the password: set ca_file instead`);
  }
  return section.allValues;
}

function reportMissingHalf(
  section: Section<TlsConfig>,
  one: 'cert_file' | 'key_file',
  other: 'cert_file' | 'key_file',
): void {
  if (!section.has(one) || section.has(other)) return;
  section.report(one, `${one} without ${other}: a client certificate needs both`);
}

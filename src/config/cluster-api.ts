import { isReadableOnTheWay } from './api-url.ts';
import { CLUSTER_API, TLS } from './cluster-options.ts';
import type { ClusterApiConfig, TlsConfig } from './config.ts';
import { readSecret, warnOfSecretFile } from './credentials.ts';
import type { Environment } from './givens.ts';
import { checkCas, checkIdentity } from './identity.ts';
import { keysAt } from './options.ts';
import { readPem } from './pem.ts';
import { isSet, keyOf, openMember, placeOf, read, readNeeded } from './section.ts';
import type { Option, Section } from './section.ts';

const PASSWORD = {
  text: CLUSTER_API.password,
  file: CLUSTER_API.passwordFile,
  variable: CLUSTER_API.passwordEnv,
};
const TOKEN = {
  text: CLUSTER_API.token,
  file: CLUSTER_API.tokenFile,
  variable: CLUSTER_API.tokenEnv,
};

/** Reads `cluster_api` of a cluster. */
export async function readClusterApi(
  section: Section,
  env: Environment,
): Promise<ClusterApiConfig> {
  checkLogin(section);
  return {
    urls: readUrls(section),
    username: read(section, CLUSTER_API.username),
    password: await readSecret(section, PASSWORD, env),
    token: await readSecret(section, TOKEN, env),
    sessionHeaders: read(section, CLUSTER_API.sessionHeaders),
    tls: await readTls(openMember(section, 'tls', keysAt('clusters[].cluster_api.tls'))),
    timeoutSeconds: read(section, CLUSTER_API.timeout),
    maxConcurrentRequests: read(section, CLUSTER_API.maxConcurrentRequests),
    maxResponseBytes: read(section, CLUSTER_API.maxResponseBytes),
    minRate: read(section, CLUSTER_API.minRate),
    compression: read(section, CLUSTER_API.compression),
  };
}

function readUrls(section: Section): readonly string[] {
  const urls = readNeeded(section, CLUSTER_API.urls);
  const fault = findFault(urls.filter((url) => url !== ''));
  if (fault) section.findings.report(placeOf(section, CLUSTER_API.urls), fault);
  warnOfPlainText(section, urls, [CLUSTER_API.username, ...Object.values(TOKEN)]);
  return urls;
}

function findFault(urls: readonly string[]): string | undefined {
  if (new Set(urls).size < urls.length) return 'a URL is listed twice: remove one';
  const isMixed = new Set(urls.map((url) => new URL(url).protocol)).size > 1;
  return isMixed ? 'http:// and https:// are mixed: use one of them for all nodes' : undefined;
}

/** Warns when a credential goes unencrypted to another host. */
export function warnOfPlainText(
  section: Section,
  urls: readonly string[],
  credentials: readonly Option<unknown>[],
): void {
  if (!credentials.some((option) => isSet(section, option))) return;
  const readable = urls.find((url) => url !== '' && isReadableOnTheWay(url));
  if (readable === undefined) return;
  section.findings.warn(
    section.place,
    `credentials are sent in plain text to ${new URL(readable).origin}: use https://`,
  );
}

function checkLogin(section: Section): void {
  const { findings } = section;
  const username = isSet(section, CLUSTER_API.username);
  const password = Object.values(PASSWORD).find((row: Option<unknown>) => isSet(section, row));
  const token = Object.values(TOKEN).find((row: Option<unknown>) => isSet(section, row));
  if (username && token !== undefined) {
    findings.report(placeOf(section, token), 'a token beside a username: keep one way to log in');
  } else if (username && password === undefined) {
    findings.report(
      placeOf(section, CLUSTER_API.username),
      'a username without password: add password_file, password_env or password',
    );
  }
  if (!username && password !== undefined) {
    findings.report(placeOf(section, password), 'a password without username: add username');
  }
}

async function readTls(section: Section): Promise<TlsConfig> {
  reportMissingHalf(section, TLS.certFile, TLS.keyFile);
  reportMissingHalf(section, TLS.keyFile, TLS.certFile);
  await checkFiles(section);
  if (read(section, TLS.insecureSkipVerify)) {
    const message = 'the certificates of the nodes are not checked, so anybody on the way can read';
    const place = placeOf(section, TLS.insecureSkipVerify);
    section.findings.warn(place, `${message} the password: set ca_file instead`);
  }
  return {
    caFile: read(section, TLS.caFile),
    certFile: read(section, TLS.certFile),
    keyFile: read(section, TLS.keyFile),
    serverName: read(section, TLS.serverName),
    insecureSkipVerify: read(section, TLS.insecureSkipVerify),
  };
}

/** The files are read again when they are used; what is wrong with them now is told now. */
async function checkFiles(section: Section): Promise<void> {
  const cas = await readPem(section, { file: TLS.caFile });
  const certificates = await readPem(section, { file: TLS.certFile });
  const key = await readPem(section, { file: TLS.keyFile });
  if (cas) checkCas(section, cas);
  if (certificates && key) checkIdentity(section, { certificates, key });
  const keyFile = read(section, TLS.keyFile);
  if (key && keyFile) await warnOfSecretFile(keyFile, key.place, section.findings);
}

function reportMissingHalf(section: Section, one: Option<string>, other: Option<string>): void {
  if (!isSet(section, one) || isSet(section, other)) return;
  const message = `${keyOf(one)} without ${keyOf(other)}: a client certificate needs both`;
  section.findings.report(placeOf(section, one), message);
}

import { CLOUD_API } from './cluster-options.ts';
import { warnOfPlainText } from './cluster-api.ts';
import type { CloudApiConfig } from './config.ts';
import { readSecret } from './credentials.ts';
import type { Environment } from './givens.ts';
import { read, readNeeded } from './section.ts';
import type { Section } from './section.ts';

const TOKEN = { text: CLOUD_API.token, file: CLOUD_API.tokenFile, variable: CLOUD_API.tokenEnv };

/** Reads `cloud_api` of a cluster. */
export async function readCloudApi(section: Section, env: Environment): Promise<CloudApiConfig> {
  const token = await readSecret(section, TOKEN, env);
  if (token === undefined) {
    section.findings.report(
      section.place,
      'a token is missing: set token_file, token_env or token',
    );
  }
  const url = read(section, CLOUD_API.url);
  warnOfPlainText(section, [url], Object.values(TOKEN));
  return {
    url,
    clusterId: readNeeded(section, CLOUD_API.clusterId),
    token: token ?? CLOUD_API.token.kind.standIn,
    apiVersion: read(section, CLOUD_API.apiVersion),
  };
}

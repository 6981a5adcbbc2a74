import { isLoopback } from './addresses.ts';
import type { ConfigIssues } from './issues.ts';
import { type Environment, Secret } from './secret.ts';

/** How requests leave the network, as the environment says. */
export interface ProxyConfig {
  /** For `http://` URLs; may hold a password. */
  readonly http?: Secret | undefined;
  /** For `https://` URLs. */
  readonly https?: Secret | undefined;
  /** Hosts that are asked directly, separated by commas or spaces. */
  readonly noProxy: string;
}

type Scheme = 'http' | 'https';

/** As curl reads them: HTTP_PROXY in capitals can be set by a client of a CGI program, so it is not looked at. */
const VARIABLES: Readonly<Record<Scheme, readonly string[]>> = {
  http: ['http_proxy', 'all_proxy', 'ALL_PROXY'],
  https: ['https_proxy', 'HTTPS_PROXY', 'all_proxy', 'ALL_PROXY'],
};

/** The proxies for the URLs of a cluster. What concerns none of them is not looked at; loopback never needs one. */
export function readProxies(
  urls: readonly string[],
  env: Environment,
  issues: ConfigIssues,
): ProxyConfig {
  const distant = urls.filter((url) => URL.canParse(url) && !isLoopback(url));
  const schemes = new Set(distant.map((url) => new URL(url).protocol));
  return {
    http: schemes.has('http:') ? readProxy('http', env, issues) : undefined,
    https: schemes.has('https:') ? readProxy('https', env, issues) : undefined,
    noProxy: env['no_proxy'] ?? env['NO_PROXY'] ?? '',
  };
}

function readProxy(scheme: Scheme, env: Environment, issues: ConfigIssues): Secret | undefined {
  const name = VARIABLES[scheme].find((variable) => (env[variable] ?? '') !== '');
  if (name === undefined) return undefined;
  const value = env[name] ?? '';
  const url = /^[a-z\d+.-]+:\/\//i.test(value) ? value : `http://${value}`;
  if (/^https?:\/\//i.test(url) && URL.canParse(url)) {
    return Secret.fromText(url, `environment variable ${name}`);
  }
  const message = 'is no proxy that can be used: write it as http://proxy:3128';
  issues.report({ source: name, path: '' }, message);
  return undefined;
}

import { isIP } from 'node:net';
import { findUrlFault } from '#base';
import { type Environment, Secret } from './files.ts';
import type { ConfigIssues } from './issues.ts';
import type { ProxyConfig } from './keys-and-flags.ts';
import { isLoopback } from './values.ts';

const EXAMPLE = 'http://proxy:3128';
const HINT = ', and in the user or password / as %2F, ? as %3F, # as %23, @ as %40 and % as %25';
const IS_NO_PROXY = `is not the URL of a proxy: write it as ${EXAMPLE}`;

/** The proxies for the URLs of a cluster. What concerns none of them is ignored; loopback never needs one. */
export function readProxies(
  urls: readonly string[],
  env: Environment,
  issues: ConfigIssues,
): ProxyConfig {
  const distant = urls.filter((url) => url !== '' && !isLoopback(url));
  const find = (...variables: readonly string[]): string | undefined =>
    variables.find((variable) => (env[variable] ?? '') !== '');
  const read = (scheme: string, ...variables: readonly string[]): Secret | undefined => {
    const source = find(...variables);
    if (source === undefined || !distant.some((url) => url.startsWith(scheme))) return undefined;
    const value = (env[source] ?? '').trim();
    const url = /^[a-z\d+.-]+:\/\//i.test(value) ? value : `http://${value}`;
    const fault = findProxyFault(url);
    if (fault === undefined) return new Secret(url);
    issues.report({ source, path: '' }, fault);
    return undefined;
  };
  // These are the variables that curl reads: HTTP_PROXY in capitals could be set by a client of a CGI program.
  const http = read('http:', 'http_proxy', 'all_proxy', 'ALL_PROXY');
  const https = read('https:', 'https_proxy', 'HTTPS_PROXY', 'all_proxy', 'ALL_PROXY');
  const exceptions = find('no_proxy', 'NO_PROXY');
  const noProxy = exceptions === undefined ? '' : (env[exceptions] ?? '');
  const isUsed = http !== undefined || https !== undefined;
  if (exceptions !== undefined && isUsed && noProxy.includes('/') && distant.some(hasAddress)) {
    const message = 'a network or URL names no host here, so the proxy is used: list the addresses';
    issues.warn({ source: exceptions, path: '' }, message);
  }
  return { http, https, noProxy };
}

/** Whether the host of a URL is an IP address. */
function hasAddress(url: string): boolean {
  return isIP(new URL(url).hostname.replace(/^\[(.*)\]$/, '$1')) !== 0;
}

/** Why a text is not the URL of a proxy, without the user and the password that it may hold. */
function findProxyFault(text: string): string | undefined {
  const url = URL.parse(text);
  // In `http://user:a/b@proxy` the password looks like a port.
  if (url === null) return text.includes('@') ? `${IS_NO_PROXY}${HINT}` : IS_NO_PROXY;
  if (!/^https?:$/.test(url.protocol)) return IS_NO_PROXY;
  const { protocol, host, pathname, search, hash, username, password } = url;
  if (`${pathname}${search}${hash}` !== '/') {
    return `has a path, a query or a fragment: write it as ${EXAMPLE}${HINT}`;
  }
  // The URL standard leaves a % as it is, but who decodes the password fails.
  if (!isEscaped(username) || !isEscaped(password)) {
    return 'has a % in the user or password that is no escape of UTF-8: write a % itself as %25';
  }
  return findUrlFault(`${protocol}//${host}`, EXAMPLE);
}

function isEscaped(text: string): boolean {
  try {
    // The compiler leaves out a call whose result nobody reads, although this one may throw.
    return decodeURIComponent(text).length >= 0;
  } catch {
    return false;
  }
}

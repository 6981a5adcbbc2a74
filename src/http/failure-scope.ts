import { codeOf, RequestError } from './errors.ts';

/** Failures before there was a connection to the URL's host: nothing that was asked can be the cause. */
const CONNECT_CODES: ReadonlySet<string> = new Set([
  'EADDRNOTAVAIL',
  'EAI_AGAIN',
  'ECONNREFUSED',
  'EHOSTDOWN',
  'EHOSTUNREACH',
  'ENETDOWN',
  'ENETUNREACH',
  'ENOENT',
  'ENOTFOUND',
  'ETIMEDOUT',
  'UND_ERR_ABORTED',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_PRX_CONN',
]);

/** The server is there and does not do what was asked. */
const SICK_STATUSES: ReadonlySet<number> = new Set([502, 503, 504]);

/** What a failure speaks of: the URL, what was asked for there, or neither of them. */
export type FailureScope = 'url' | 'endpoint' | 'nobody';

/**
 * Judges a failure that is not silence. A node that a gateway cannot reach by HTTP (a proxied 502) is a
 * finding of a healthy gateway.
 */
export function scopeOf(error: RequestError, isProxied: boolean): FailureScope {
  if (error.reason === 'tls' || CONNECT_CODES.has(codeOf(error))) return 'url';
  if (error.status === 502 && isProxied) return 'nobody';
  if (SICK_STATUSES.has(error.status ?? 0)) return 'endpoint';
  return error.reason === 'network' || error.reason === 'timeout' ? 'endpoint' : 'nobody';
}

/** True for a deadline of ours; the system's and undici's have codes and come before the connection. */
export function isOurTimeout(error: RequestError): boolean {
  return error.reason === 'timeout' && codeOf(error) === '';
}

/** A gateway or balancer that has waited for a node in vain. */
export function isNodeTimeout(error: unknown, { node }: { readonly node?: number }): boolean {
  return node !== undefined && error instanceof RequestError && error.status === 504;
}

import { BoundedMap } from './bounded-map.ts';
import type { RequestError } from './errors.ts';
import { type HttpRequest, subjectOf } from './request.ts';
import type { Upstream } from './upstream.ts';

/** A response of 401 or 403, a 400 that complains of the token, or one to a login. */
export interface Refusal {
  readonly upstream: Upstream;
  readonly error: RequestError;
}

/** Whether the failure is a refusal of a login, or of a request that would be accepted with another token or user. */
export function isRefusal({ endpoint, sentToken }: HttpRequest, { reason }: RequestError): boolean {
  return (
    (endpoint === 'login' || sentToken === true) && (reason === 'auth' || reason === 'forbidden')
  );
}

/**
 * Tells a URL that refuses everybody (a balancer with a login of its own, a node of another cluster) from a user or token
 * that the cluster refuses: a refusal is tried once at another URL. Where that accepts, the first URL is left out for some
 * minutes. Where it agrees, the user or the token is refused, and later requests ask one URL until one accepts.
 */
export class Refusals {
  readonly #upstreams: readonly Upstream[];
  /** What two URLs refused. */
  readonly #confirmed = new BoundedMap<string, true>();

  constructor(upstreams: readonly Upstream[]) {
    this.#upstreams = upstreams;
  }

  /** Whether the refusals of one request are to be tried at another URL. */
  isDoubtful(request: HttpRequest, refusals: readonly Refusal[]): boolean {
    const subject = subjectOf(request);
    if (refusals.length > 1) this.#confirmed.set(subject, true);
    return !this.#confirmed.has(subject);
  }

  /** Records that a URL accepted a request, which others had refused. */
  accepted(request: HttpRequest, upstream: Upstream, refusals: readonly Refusal[]): void {
    this.#confirmed.delete(subjectOf(request));
    if (request.endpoint !== 'login' && request.sentToken !== true) return;
    upstream.recordAcceptance();
    for (const refusal of refusals) refusal.upstream.leaveOut(refusal.error);
  }

  /** Leaves out a URL unless it is the last one; then all are used again. Returns whether it is left out. */
  leaveOut(href: string, error: RequestError): boolean {
    this.#upstreams.find(({ url }) => url.href === href)?.leaveOut(error);
    if (this.#upstreams.some(({ isLeftOut }) => !isLeftOut)) return true;
    for (const upstream of this.#upstreams) upstream.useAgain();
    return false;
  }
}

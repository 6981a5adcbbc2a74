import pLimit from 'p-limit';
import { orAborted } from './abort.ts';
import { RequestError } from './errors.ts';
import {
  createExchange,
  type ExchangeOptions,
  type HttpAnswer,
  type HttpRequest,
} from './exchange.ts';
import { createTargets, orderTargets, type Target, type TargetState } from './targets.ts';

export interface HttpClientOptions extends ExchangeOptions {
  readonly urls: readonly string[];
  /** How long a bad URL is left alone. */
  readonly breakerOpenMs: number;
  readonly monotonicMs: () => number;
}

export interface ClientRequest extends HttpRequest {
  /** Index of the URL to begin with. */
  readonly firstUrl?: number | undefined;
  /** One sick gateway can answer 500 to everything: ask once more at the next URL. */
  readonly repeatOn500?: boolean | undefined;
}

/**
 * The one door to one API of one cluster: bounded requests in flight, deadlines, the next URL when
 * one is bad. Failures are RequestErrors with a reason of the closed list.
 */
export interface HttpClient extends AsyncDisposable {
  send(request: ClientRequest): Promise<HttpAnswer>;
  /** True while at least one URL may be asked. */
  available(): boolean;
  targets(): readonly TargetState[];
}

export function createHttpClient(options: HttpClientOptions): HttpClient {
  const targets = createTargets(options.urls, {
    openMs: options.breakerOpenMs,
    monotonicMs: options.monotonicMs,
  });
  const slots = pLimit(options.maxConcurrentRequests);
  const exchange = createExchange(options);

  /** One request to one URL, once a slot is free; its breaker learns what that says of the URL. */
  async function attempt(target: Target, request: ClientRequest): Promise<HttpAnswer> {
    const { breaker } = target;
    const work = slots(() => exchange.send(target, request));
    try {
      const answer = await orAborted(work, request.signal, `${request.endpoint}: waiting`);
      breaker.succeeded();
      return answer;
    } catch (error) {
      if (error instanceof RequestError && error.blamesUrl) breaker.failed();
      else if (error instanceof RequestError && error.status !== undefined) breaker.succeeded();
      else breaker.released();
      throw error;
    }
  }

  async function send(request: ClientRequest): Promise<HttpAnswer> {
    let last: RequestError | undefined;
    for (const target of orderTargets(targets, request.firstUrl ?? 0)) {
      if (!target.breaker.admit()) continue;
      try {
        return await attempt(target, request);
      } catch (error) {
        if (!(error instanceof RequestError) || request.signal.aborted) throw error;
        // A second 500 is the cluster's answer, not one gateway's.
        const isSick = error.status === 500 && request.repeatOn500 === true && last?.status !== 500;
        if (!error.blamesUrl && !isSick) throw error;
        last = error;
      }
    }
    throw last ?? new RequestError('breaker_open', `${request.endpoint}: no URL may be asked now`);
  }

  return {
    send,
    available: () => targets.some((target) => target.breaker.state() !== 'open'),
    targets: () => targets.map(({ name, breaker }) => ({ target: name, state: breaker.state() })),
    async [Symbol.asyncDispose]() {
      slots.clearQueue();
      await exchange[Symbol.asyncDispose]();
    },
  };
}

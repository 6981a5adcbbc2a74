import type { HttpRequest } from '../http/request.ts';

/** A GET of the cluster API, to which ApiLogin adds the token. A response that a cache has kept is a failure. */
export interface ApiRequest<T> extends Omit<
  HttpRequest<T>,
  'method' | 'headers' | 'body' | 'sentToken'
> {
  /** Sends the token as the cookie `session`, as paths outside of /api/v2/ expect it. A refusal there is no sign that it has expired. */
  readonly sendsCookie?: boolean;
}

/** Sends requests of the cluster API with the token of a login. */
export interface ApiSender {
  get<T>(request: ApiRequest<T>): Promise<T>;
}

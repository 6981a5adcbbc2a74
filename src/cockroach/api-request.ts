import type { HttpRequest } from './http/request.ts';

/** A request of the cluster API, to which ApiLogin adds the token. A response that a cache has kept is a failure. */
export interface ApiRequest<T> extends Omit<HttpRequest<T>, 'method' | 'headers' | 'sentToken'> {
  /** JSON, which is sent by POST; a request without it is a GET. */
  readonly body?: string;
  /** The response may be protobuf: the server chooses, and an error has the same form. */
  readonly acceptsProtobuf?: boolean;
}

/** Sends requests of the cluster API with the token of a login. */
export interface ApiSender {
  send<T>(request: ApiRequest<T>): Promise<T>;
}

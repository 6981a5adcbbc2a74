import type { ClusterSelf, FinishedRequest } from '../../metrics/self.ts';
import { writeBytes, writeMs } from '../human.ts';

/** What became of the requests of a cluster's clients, as they report it. */
export interface Recorder {
  readonly self: ClusterSelf;
  /** Status, size and time of the last request of the endpoint, in words. */
  describeLast(endpoint: string): string;
  last(endpoint: string): FinishedRequest | undefined;
}

/** Counters as the exporter's own, with an ear for each request. */
export function createRecorder(counters: ClusterSelf): Recorder {
  const finished: FinishedRequest[] = [];
  const last = (endpoint: string): FinishedRequest | undefined =>
    finished.findLast((request) => request.endpoint === endpoint);
  return {
    self: {
      ...counters,
      requestFinished(request) {
        finished.push(request);
        counters.requestFinished(request);
      },
    },
    last,
    describeLast(endpoint) {
      const request = last(endpoint);
      if (request === undefined) return 'not asked';
      return `${request.code}, ${writeBytes(request.bytes)} in ${writeMs(request.seconds * 1000)}`;
    },
  };
}

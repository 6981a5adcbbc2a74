import type { Faults } from '../http/faults.ts';
import type { RequestRecorder } from '../http/request-log.ts';
import type { Service } from '../http/serve.ts';
import { createRateLimit } from './rate-limit.ts';
import { answerCloud, matchCloudRoute, versionOf } from './routes.ts';
import type { CloudServer } from './service.ts';

/** The cloud API as its address serves it; it echoes the version that the request asked for. */
export function cloudService(server: CloudServer, log: RequestRecorder, faults: Faults): Service {
  // Real time: the limit is about requests, not about the world.
  const refusal = createRateLimit(() => performance.now());
  return {
    api: 'cloud',
    gateway: 0,
    targetOf: () => 0,
    log,
    faults,
    now: server.world.state.now,
    endpointOf: (arrival) => matchCloudRoute(arrival.url.pathname).endpoint,
    compresses: () => true,
    headers: () => ({}),
    answer: (arrival) => {
      const tooFast = server.quirks.cloudRateLimit ? refusal() : undefined;
      const answer = tooFast ?? answerCloud(server, arrival);
      const version = versionOf(arrival);
      if (version === undefined) return Promise.resolve(answer);
      return Promise.resolve({ ...answer, headers: { ...answer.headers, 'Cc-Version': version } });
    },
  };
}

import type { CollectorStatus } from './collectors.ts';
import type { ClusterFacts } from './facts.ts';
import type { Finding } from './findings.ts';
import { sayList } from './words.ts';

const API_NAMES = { cluster: 'The cluster API', cloud: 'The Cloud API' } as const;

/** What the polls themselves tell: APIs that are down, collectors that fail, limits. */
export function findInCollectors({ collectors, apis }: ClusterFacts): readonly Finding[] {
  const down = new Set(apis.filter(({ isUp }) => isUp === false).map(({ api }) => api));
  const others = collectors.filter(({ api }) => !down.has(api));
  return [
    ...Array.from(down, (api) => findDown(collectors.filter((one) => one.api === api))).flat(),
    ...others.flatMap(findFailing),
    ...collectors.flatMap(findLimits),
  ];
}

/** One cause, whatever number of collectors it stops. */
function findDown(collectors: readonly CollectorStatus[]): readonly Finding[] {
  const failing = collectors.filter(({ error }) => error !== undefined);
  // That nobody was asked says nothing about why.
  const telling = failing.find(({ error }) => error?.reason !== 'breaker_open') ?? failing[0];
  if (telling?.error === undefined) return [];
  const { api, error } = telling;
  const names = sayList(failing.map(({ name }) => name));
  const text = `${API_NAMES[api]} gives no good answer: ${error.message}.`;
  const next = `${error.advice} Collectors that fail: ${names}.`;
  return [{ key: `api ${api}`, level: 'trouble', text, next }];
}

function findFailing({ name, error, hasData }: CollectorStatus): readonly Finding[] {
  if (error === undefined) return [];
  const data = hasData ? 'what is shown is older' : 'there is no present data';
  const text = `Polls of ${name} fail, ${data}: ${error.message}.`;
  return [{ key: `collector ${name}`, level: 'warning', text, next: error.advice }];
}

function findLimits({ name, error, limits }: CollectorStatus): readonly Finding[] {
  // A failed poll has told already what it ran into.
  if (error !== undefined || limits.length === 0) return [];
  const text = `The last poll of ${name} ran into its limit of ${sayList(limits)}: not all is shown.`;
  const next = 'Raise the limit in the configuration, or let the collector read less.';
  return [{ key: `limit ${name}`, level: 'warning', text, next }];
}

import type { PollFailureReason } from '../../metrics/self-families.ts';
import type { CollectorPlan } from '../../poll/outcome.ts';
import { sayArgument } from './words.ts';

const ADVICE: Readonly<Record<PollFailureReason, string>> = {
  timeout:
    'See whether the nodes are overloaded; if they only have much to tell, raise the timeout.',
  network: 'See whether the server is up, and the URL, its port and the way to it are right.',
  tls: 'Check ca_file, server_name and the dates of the certificates.',
  auth: 'Check user and password, or the token; files are read again at every login.',
  forbidden: 'The user lacks a privilege.',
  not_available: 'This server does not offer it: check the URL, or turn the collector off.',
  http: 'The server could not answer: see its log, and that the scheme, http or https, is right.',
  decode: 'The answer is not what the API sends: see what stands between exporter and server.',
  limit: 'The answer is larger than is taken: raise max_response_bytes or lower page_limit.',
  breaker_open:
    'Every URL, or this endpoint at all of them, failed several times: a trial follows soon.',
  other: 'See the log of the exporter.',
};

/** What a person may do about a failed poll; one or two sentences. */
export function adviseOn(
  reason: PollFailureReason,
  { api, privilege }: Pick<CollectorPlan, 'api' | 'privilege'>,
  cluster: string,
): string {
  if (reason === 'forbidden') return `${ADVICE.forbidden} It needs ${privilege}.`;
  if (reason === 'not_available' && api === 'cloud') return 'Check cluster_id and api_version.';
  const more =
    reason === 'other'
      ? ''
      : ` \`crdb-exporter diagnose --cluster ${sayArgument(cluster)}\` tells more.`;
  return ADVICE[reason] + more;
}

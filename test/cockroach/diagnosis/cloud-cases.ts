import type { Case } from './cluster-cases.ts';

export const ASSISTANT = ['cloud', 'assistant', 'get'];
const PROVISION = ['cloud', 'assistant', 'provision', '--yes'];
const RENAME = ['cloud', 'rename-database', 'movr', 'bank', '--yes'];

export const CLOUD_CASES: readonly Case[] = [
  {
    when: 'the API key is wrong',
    token: 'nobody',
    command: ASSISTANT,
    problem: /HTTP 401.*: code 16: invalid or missing bearer token/,
    remedy: 'put the secret key of a service account into cloud_api.token_file',
  },
  {
    when: 'the service account may not read the assistant',
    token: 'cluster_data_accessor-token',
    command: ASSISTANT,
    problem: /HTTP 403.*: code 7: /,
    remedy: 'needs the role ORG_ADMIN, CLUSTER_ADMIN or CLUSTER_OPERATOR_WRITER',
  },
  {
    when: 'there is no assistant to show',
    command: ASSISTANT,
    problem: /the cluster has no migration assistant/,
    remedy: 'create one with `cloud assistant provision`',
  },
  {
    when: 'the version of the service has no assistants',
    fault: {
      kind: 'status',
      status: 404,
      api: 'cloud',
      body: '{"code": 5, "message": "Not Found"}',
    },
    command: ASSISTANT,
    problem: /HTTP 404.*: code 5: Not Found/,
    remedy: 'set cloud_api.api_version to a version that has it',
  },
  {
    when: 'the URL is that of another server',
    fault: { kind: 'status', status: 404, api: 'cloud', body: '404 page not found' },
    command: ASSISTANT,
    problem: /HTTP 404/,
    remedy: 'check cloud_api.url (--cloud.url)',
  },
  {
    when: 'another server redirects to its login page',
    fault: { kind: 'redirect', location: 'https://x.example/login', api: 'cloud' },
    command: ASSISTANT,
    problem: /HTTP 302/,
    remedy: 'check cloud_api.url (--cloud.url)',
  },
  {
    when: 'the service does not know the cluster',
    fault: {
      kind: 'status',
      status: 404,
      api: 'cloud',
      body: `{"code": 5, "message": "internal call failed: cluster 'x' not found"}`,
    },
    command: ASSISTANT,
    problem: /HTTP 404.*: code 5: internal call failed/,
    remedy: 'check cloud_api.cluster_id',
  },
  {
    when: 'there is no database of the old name',
    command: ['cloud', 'rename-database', 'nowhere', 'new', '--yes'],
    problem: /HTTP 404.*: code 5: database "nowhere" does not exist/,
    remedy: 'check the old name',
  },
  {
    when: 'the version of the service is gone',
    fault: {
      kind: 'status',
      status: 400,
      api: 'cloud',
      body: '{"code": 3, "message": "invalid Cc-Version."}',
    },
    command: ASSISTANT,
    problem: /HTTP 400.*: code 3: invalid Cc-Version/,
    remedy: 'set cloud_api.api_version',
  },
  {
    when: 'the service limits the rate of requests',
    fault: { kind: 'status', status: 429, api: 'cloud', headers: { 'retry-after': '60' } },
    command: RENAME,
    problem: /HTTP 429/,
    remedy: 'try again in 60 s',
  },
  {
    when: 'the service sends its rate limit as a bad request',
    fault: {
      kind: 'status',
      status: 400,
      api: 'cloud',
      headers: { 'retry-after': '60' },
      body: '{"code": 8, "message": "slow down"}',
    },
    command: ASSISTANT,
    problem: /HTTP 400.*: code 8: slow down/,
    remedy: 'limits the rate of requests: try again in 60 s',
  },
  {
    when: 'the service sends its rate limit as an internal error, with a text alone',
    fault: {
      kind: 'status',
      status: 500,
      api: 'cloud',
      body: '{"code": 13, "message": "rate limit exceeded"}',
    },
    command: ASSISTANT,
    problem: /HTTP 500.*: code 13: rate limit exceeded/,
    remedy: 'limits the rate of requests: try again in',
  },
  {
    when: 'the service refuses a change by its rate limit, as a bad request',
    fault: {
      kind: 'status',
      status: 400,
      api: 'cloud',
      body: '{"code": 3, "message": "Rate limit exceeded"}',
    },
    command: RENAME,
    problem: /HTTP 400.*: code 3: Rate limit exceeded/,
    remedy: 'limits the rate of requests: try again in',
  },
  {
    when: 'a change ends with an internal error, and may be made all the same',
    fault: { kind: 'status', status: 500, api: 'cloud', headers: { 'retry-after': '60' } },
    command: PROVISION,
    problem: /HTTP 500/,
    remedy: 'the service may have made the change: check with `cloud assistant get`',
  },
  {
    when: 'the connection is lost during a change',
    fault: { kind: 'reset', api: 'cloud' },
    command: PROVISION,
    problem: /assistant at \S+: /,
    remedy: 'the service may have made the change: check with `cloud assistant get`',
  },
];

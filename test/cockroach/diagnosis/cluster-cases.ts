import type { Simulator, SimulatorOptions } from '../../../simulator/index.ts';

type Options = Partial<SimulatorOptions>;
type Fault = Parameters<Simulator['fault']>[0];

/** A failure of a command, with the expected message. */
export interface Case {
  readonly when: string;
  readonly options?: Options;
  readonly fault?: Fault;
  /** Members of `cluster_api` in place of the login. */
  readonly clusterApi?: string;
  readonly token?: string;
  readonly command: readonly string[];
  readonly problem: RegExp;
  readonly remedy: string;
}

export const CLUSTER_CASES: readonly Case[] = [
  {
    when: 'the password is wrong',
    clusterApi: 'username: exporter, password: wrong',
    command: ['nodes'],
    problem: /login at \S+: HTTP 401/,
    remedy: 'ALTER USER exporter WITH PASSWORD … sets one',
  },
  {
    when: 'a secure cluster is queried without login',
    clusterApi: 'timeout: 5s',
    command: ['nodes'],
    problem: /nodes at \S+: HTTP 401/,
    remedy:
      'set cluster_api.username and password_file (--cluster.username and --cluster.password-file)',
  },
  {
    when: 'the session token has expired',
    clusterApi: 'token: CJHnEhIQAAAAAAAAAAAAAAAAAAAAAA==',
    command: ['nodes'],
    problem: /HTTP 401/,
    remedy: 'create a new one with `cockroach auth-session login USER`',
  },
  {
    when: 'the user lacks the privilege for nodes',
    clusterApi: 'username: plain, password: plain-demo',
    command: ['nodes'],
    problem: /nodes at \S+: HTTP 403/,
    remedy: 'run GRANT SYSTEM VIEWCLUSTERMETADATA TO plain;',
  },
  {
    when: 'the user may not read the users',
    clusterApi: 'username: watcher, password: watcher-demo',
    command: ['users'],
    problem: /users at \S+: HTTP 500/,
    remedy: 'run GRANT SELECT ON system.users TO watcher;',
  },
  {
    when: 'the servers answer with errors of their own',
    fault: { kind: 'status', status: 500, endpoint: 'nodes' },
    command: ['nodes'],
    problem: /nodes at \S+: HTTP 500/,
    remedy: 'the reason is only in the log of the node that answered',
  },
  {
    when: 'a proxy cuts responses',
    fault: { kind: 'status', status: 200, body: '{"nodes":[{"node_id":1', endpoint: 'nodes' },
    command: ['nodes'],
    problem: /nodes at \S+: the document is incomplete \(at byte 22 of the document\)/,
    remedy: 'let proxies and load balancers pass responses of any size and duration',
  },
  {
    when: 'it is a virtual cluster',
    options: { quirks: { tenant: 'text' }, insecure: true },
    clusterApi: 'timeout: 5s',
    command: ['nodes'],
    problem: /nodes at \S+: HTTP 501/,
    remedy: 'set cluster_api.virtual_cluster (--cluster.virtual-cluster) to system',
  },
  {
    when: 'a secure cluster is queried by http://',
    options: { quirks: { redirectToHttps: true } },
    command: ['nodes'],
    problem: /HTTP 307/,
    remedy: 'write https:// in the URL',
  },
  {
    when: 'there is no such table',
    command: ['table', 'movr', 'nowhere'],
    problem: /table at \S+: HTTP 404/,
    remedy: 'check the names of database, schema and table',
  },
  {
    when: 'the name of a table needs quotes',
    command: ['table', 'movr', 'Odd-Name'],
    problem: /table at \S+: HTTP 404/,
    remedy: 'only letters, digits, _ and . are possible',
  },
  {
    when: 'no cluster of that name is configured',
    command: ['nodes', '--cluster', 'sin'],
    problem: /no cluster "sin" is configured/,
    remedy: 'did you mean sim?',
  },
  {
    when: 'the server cannot write its answer',
    options: { quirks: { unencodable: 'nodes' } },
    command: ['nodes'],
    problem: /nodes at \S+: /,
    remedy: 'or the server could not encode its response (see its log)',
  },
  {
    when: 'system ranges have no quorum, so that logins hang',
    fault: { kind: 'hang', endpoint: 'login' },
    clusterApi: 'username: exporter, password: exporter-demo, timeout: 1s',
    command: ['nodes'],
    problem: /login at \S+: no response in time/,
    remedy: 'system ranges may have no quorum: start the nodes that are down',
  },
  {
    when: 'the sessions never come',
    fault: { kind: 'hang', endpoint: 'sessions' },
    clusterApi: 'username: exporter, password: exporter-demo, timeout: 1s',
    command: ['sessions'],
    problem: /sessions at \S+: no headers/,
    remedy: 'a node may be frozen',
  },
];

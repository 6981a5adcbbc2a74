/** The cluster of the page: with a dead node and ranges with problems. */
export const PAGE_SIMULATOR = {
  nodes: 5,
  ranges: 60,
  sessions: 12,
  faultyNodes: true,
  unusualNames: false,
} as const;

interface Simulated {
  readonly clusterUrl: string;
  readonly username: string;
  readonly password: string;
  readonly cloudUrl: string;
  readonly cloudToken: string;
  readonly cloudClusterId: string;
}

/** The configuration file of the page. */
export function describeSimulator(simulator: Simulated): string {
  const { clusterUrl, username, password, cloudUrl, cloudToken, cloudClusterId } = simulator;
  return `clusters:
  - name: prod
    cluster_api: { urls: ["${clusterUrl}"], username: ${username}, password: ${password} }
    cloud_api: { url: "${cloudUrl}", cluster_id: ${cloudClusterId}, token: ${cloudToken} }
collectors:
  sql:
    queries:
      - name: schedules
        help: Schedules by label.
        sql: SELECT label, paused, failed FROM [SHOW SCHEDULES]
        labels: [label]
        values: { paused: gauge, failed: gauge }
`;
}

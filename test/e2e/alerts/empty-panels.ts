/** Queries without results in the scenario, by panel and query, with the reason. */
export const EXPECTED_EMPTY: Readonly<Record<string, string>> = {
  'CockroachDB / Overview / Live nodes D': 'no node drains or is decommissioned',
  'CockroachDB / Overview / Live nodes E': 'no node is in a state that is not known',
  'CockroachDB / Overview / KMS out of reach A': 'no backup has failed for its KMS',
  'CockroachDB / Nodes / Upgrade not finalized for A': 'no upgrade waits to be finalized',
  'CockroachDB / Exporter / TLS not verified A': 'insecure_skip_verify is off',
  'CockroachDB / Exporter / Certificates of the exporter A': 'it presents none over plain http',
  'CockroachDB / Exporter / Limits hit A': 'the simulated clusters are small',
  'CockroachDB / Exporter / Series dropped A': 'no budget is reached',
};

/** Queries with results in some runs only, with the reason. */
export const OPTIONALLY_EMPTY: Readonly<Record<string, string>> = {
  'CockroachDB / Ranges / Nodes that could not be read A':
    'a node goes down between the list of nodes and the scan of its ranges',
  'CockroachDB / Ranges / Dependent ranges by locality C':
    'with two nodes down few ranges depend on a locality alone',
  'CockroachDB / Ranges / Replicas on nodes that are down B':
    'ranges have a replica on each dead node',
  'CockroachDB / Exporter / Retries A': 'the machine is too slow for polls every second',
  'CockroachDB / Exporter / Poll failures by reason A':
    'the machine is too slow for polls every second',
  'CockroachDB / Exporter / Skipped polls A': 'the machine is too slow for polls every second',
};

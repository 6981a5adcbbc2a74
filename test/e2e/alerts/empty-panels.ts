/** Queries that rightly find nothing in the story, by panel and query, with the reason. */
export const RIGHTLY_EMPTY: Readonly<Record<string, string>> = {
  'CockroachDB / Ranges / Nodes that could not be read A': 'every node that is up answers',
  'CockroachDB / Exporter / TLS not verified A': 'insecure_skip_verify is off',
  'CockroachDB / Exporter / Certificates of the exporter A': 'it presents none over plain http',
  'CockroachDB / Exporter / Limits hit A': 'the simulated clusters are small',
  'CockroachDB / Exporter / Retries A': 'no request fails',
  'CockroachDB / Exporter / Series dropped A': 'no budget is reached',
};

/** Queries that may find something: only a machine that is too slow for polls every second fills them. */
export const PERHAPS_EMPTY: readonly string[] = [
  'CockroachDB / Exporter / Poll failures by reason A',
  'CockroachDB / Exporter / Skipped polls A',
];

import type { ServerTls } from './server-tls.ts';

/**
 * What a web config file says, in the format of the Prometheus exporter toolkit
 * (https://github.com/prometheus/exporter-toolkit/blob/master/docs/web-configuration.md), checked and
 * with the files that it names already read.
 */
export interface WebConfig {
  readonly tls?: ServerTls | undefined;
  /** Headers of every answer. */
  readonly headers: Readonly<Record<string, string>>;
  /** Users and the bcrypt hashes of their passwords; nobody needs a password when there is none. */
  readonly users: ReadonlyMap<string, string>;
  readonly rateLimit?: RateLimit | undefined;
}

/** One request per interval on the average, and so many at once. */
export interface RateLimit {
  readonly intervalSeconds: number;
  /** 0 lets nothing through, as in the toolkit. */
  readonly burst: number;
}

/** Without a web config file. */
export const NO_WEB_CONFIG: WebConfig = { headers: {}, users: new Map() };

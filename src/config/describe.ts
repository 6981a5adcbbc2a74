import type { Config } from './config.ts';

/** The running configuration as a plain object to show, every secret as `<secret>`. */
export function describeConfig(config: Config): unknown {
  // Secrets say `<secret>` of themselves when they are written as JSON.
  const plain: unknown = JSON.parse(JSON.stringify(config));
  return plain;
}

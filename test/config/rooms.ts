import type { CollectorOptions } from '../../src/config/collector-options.ts';

/** Collectors as the configuration sees them: those of the program, without what they do. */
export const ROOMS: readonly CollectorOptions[] = [
  {
    name: 'nodes',
    api: 'cluster',
    enabledByDefault: true,
    intervalSeconds: 30,
    timeoutSeconds: 30,
    maxDuty: 0.25,
    options: {
      page_limit: { kind: 'integer', default: 200, min: 1, help: 'Nodes of one page.' },
      metrics: {
        kind: 'strings',
        default: [],
        pattern: /^[^*]*\*?$/,
        expects: 'a key, or the beginning of keys and a *, as sql.mem.*',
        help: 'Keys of the metrics to show, exact or with a trailing *.',
      },
    },
  },
  {
    name: 'ranges',
    api: 'cluster',
    enabledByDefault: true,
    intervalSeconds: 60,
    timeoutSeconds: 300,
    maxDuty: 0.1,
    options: {
      page_limit: { kind: 'integer', default: 20_000, min: 1, help: 'Ranges of one page.' },
      concurrency: { kind: 'integer', default: 2, min: 1, help: 'Nodes asked at a time.' },
      route: {
        kind: 'enum',
        values: ['auto', 'proxy', 'gateway', 'local'],
        default: 'auto',
        help: 'How a node is asked for its ranges.',
      },
      hot_ranges: {
        kind: 'integer',
        default: 20,
        min: 0,
        help: 'Ranges with most queries to show.',
      },
      problem_ranges: { kind: 'integer', default: 20, min: 0, help: 'Ranges to show per problem.' },
    },
  },
  {
    name: 'sessions',
    api: 'cluster',
    enabledByDefault: true,
    intervalSeconds: 30,
    timeoutSeconds: 30,
    maxDuty: 0.25,
    options: {
      page_limit: { kind: 'integer', default: 20_000, min: 1, help: 'Sessions of one page.' },
      max_applications: { kind: 'integer', default: 50, min: 0, help: 'Applications to show.' },
      include_internal: { kind: 'boolean', default: false, help: 'Count internal sessions too.' },
      application_rewrite: {
        kind: 'rewrites',
        default: [],
        check: refuseLookaround,
        help: 'Rewrites of application names; the first that matches wins.',
      },
    },
  },
  {
    name: 'users',
    api: 'cluster',
    enabledByDefault: false,
    intervalSeconds: 600,
    timeoutSeconds: 30,
    maxDuty: 0.25,
    options: {},
  },
  {
    name: 'tables',
    api: 'cluster',
    enabledByDefault: true,
    intervalSeconds: 600,
    timeoutSeconds: 120,
    maxDuty: 0.25,
    options: {
      tables: {
        kind: 'strings',
        default: [],
        pattern: /^[^\s."]+(?:\.[^\s."]+){1,2}$/,
        expects: 'a table: write it as movr.rides or movr.public.rides',
        help: 'Tables to ask for; none when empty.',
      },
    },
  },
  {
    name: 'cloud',
    api: 'cloud',
    enabledByDefault: true,
    intervalSeconds: 60,
    timeoutSeconds: 30,
    maxDuty: 0.25,
    options: {},
  },
];

/** Stands for an engine that runs in linear time and therefore lacks these. */
function refuseLookaround(regex: string): string | undefined {
  const [found] = /\(\?<?[=!]|\\[1-9]/.exec(regex) ?? [];
  return found === undefined ? undefined : `${found} is not supported`;
}

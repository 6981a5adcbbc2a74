import { expect, test } from 'vitest';
import type { Collector } from '../../src/collectors/collector.ts';
import { COLLECTORS } from '../../src/collectors/index.ts';

/** How often it polls, for how long at most, its share of time and its request. */
function lineOf({ name, api, scope, inProbe, enabledByDefault, ...rest }: Collector): string {
  const { intervalSeconds, timeoutSeconds, maxDuty, request } = rest;
  const marks = [api, scope, ...(inProbe ? ['probe'] : []), ...(enabledByDefault ? [] : ['off'])];
  return `${name} (${marks.join(' ')}) ${intervalSeconds} ${timeoutSeconds} ${maxDuty} ${request}`;
}

test('each collector polls as often and as long as is documented', () => {
  expect(COLLECTORS.map(lineOf).join('\n')).toMatchInlineSnapshot(`
    "nodes (cluster cluster probe) 30 30 0.25 GET /nodes/
    ranges (cluster node) 60 300 0.1 GET /nodes/{node_id}/ranges/
    sessions (cluster cluster probe) 30 30 0.25 GET /sessions/
    users (cluster cluster probe off) 600 30 0.25 GET /users/
    tables (cluster cluster) 600 120 0.25 GET /databases/{database}/tables/{table}/
    cloud (cloud cluster probe) 60 30 0.25 GET /api/v1/clusters/{cluster_id}/migration-assistant"
  `);
});

test('each option has its kind, its default and its bounds', () => {
  const lines = COLLECTORS.flatMap(({ name, options }) =>
    Object.entries(options).map(([option, { help: _help, ...spec }]) => {
      const values = Object.values(spec).filter((value) => /^[\w,]+$/.test(String(value)));
      return `${name}.${option}: ${values.map(String).join(' ')}`;
    }),
  );
  expect(lines.join('\n')).toMatchInlineSnapshot(`
    "nodes.page_limit: integer 200 1
    nodes.metrics: strings
    ranges.page_limit: integer 0 0
    ranges.node_timeout: duration 120
    ranges.concurrency: integer 2 1
    ranges.route: enum auto,gateway,proxy,local auto
    ranges.hot_ranges: integer 20 0 1000
    ranges.problem_ranges: integer 20 0 1000
    ranges.top_tables: integer 20 0 1000
    sessions.page_limit: integer 20000 1
    sessions.max_applications: integer 50 0 1000
    sessions.max_users: integer 20 0 1000
    sessions.include_internal: boolean false
    sessions.application_rewrite: rewrites
    tables.tables: strings
    tables.discover: auto auto
    tables.max_tables: integer 50 0 1000"
  `);
});

import { describe, expect, test } from 'vitest';
import { nodes } from '../../../src/collectors/nodes/collector.ts';
import { NOW_NS, pollNodes, recordOf } from './records.ts';

const LAST_BACKUP = 'schedules.BACKUP.last-completed-time';
const STALE = { updated_at: NOW_NS - 600e9 };

/** A node for each of these metrics. */
function recordsWith(...records: readonly object[]) {
  return records.map((metrics, at) => recordOf(at + 1, { metrics }));
}

/** One node with these metrics of its own and of its store. */
function listOf(metrics: object, store: object) {
  return [recordOf(1, { metrics, store_metrics: { 1: store } })];
}

/** The values of a family in polls of one exporter, one after the other. */
async function follow(
  family: string,
  polls: readonly (readonly unknown[])[],
  metrics: readonly string[] = [],
): Promise<readonly (readonly string[])[]> {
  const state = nodes.createState();
  const values: (readonly string[])[] = [];
  for (const records of polls) {
    values.push((await pollNodes(records, { state, metrics })).of(family));
  }
  return values;
}

const MISSING = 'crdb_exporter_node_keys_missing';

describe('a metric that no node sends any more', () => {
  test('ends what was remembered of backups, in the first poll with a fresh record', async () => {
    const known = { [LAST_BACKUP]: 1_700_000_000, 'sys.rss': 1 };
    const gone = { 'sys.rss': 1 };
    const polls = [
      recordsWith(known, known),
      // Nodes of the new release forget it when they start, and those of the old one still send it.
      recordsWith(gone, { [LAST_BACKUP]: 0 }),
      // Nothing is fresh.
      [recordOf(1, { metrics: gone, ...STALE })],
      [recordOf(1, { metrics: gone }), recordOf(2, { metrics: known, ...STALE })],
      recordsWith(gone, known),
    ];
    expect(await follow('crdb_backup_last_completed_timestamp_seconds', polls)).toEqual([
      ['1700000000'],
      ['1700000000'],
      ['1700000000'],
      [],
      ['1700000000'],
    ]);
    expect(await follow(MISSING, polls)).toEqual([['0'], ['0'], [], ['1'], ['0']]);
  });

  test('is counted once for nodes and stores, of two names only when both are gone', async () => {
    const polls = [
      listOf(
        {
          'sys.rss': 1,
          seconds_until_enterprise_license_expiry: 0,
          'jobs.schema_change.currently_running': 0,
          'jobs.new_schema_change.currently_running': 0,
          'security.certificate.expiration.ca': 1,
          'security.certificate.expiration.node': 1,
        },
        { replicas: 3 },
      ),
      listOf(
        {
          'sys.rss': 1,
          seconds_until_license_expiry: 0,
          'jobs.new_schema_change.currently_running': 0,
          'security.certificate.expiration.ca': 1,
        },
        { replicas: 3 },
      ),
      listOf({}, {}),
    ];
    // sys.rss, the license, running changes of schemas, certificates, and replicas.
    expect(await follow(MISSING, polls)).toEqual([['0'], ['0'], ['5']]);
  });

  test('counts where the user lists it, whether it ever was sent or not', async () => {
    const listed = ['sys.rss', 'exportrequest.delay.total', 'sql.mem.*', 'txn.*', 'capacity'];
    const metrics = { 'sys.rss': 1, 'sql.mem.sql.max-p99': 5 };
    const polls = [
      [recordOf(1, { metrics, store_metrics: { 1: { capacity: 5 } } })],
      [recordOf(1, { metrics: { 'txn.commits': 1 } })],
    ];
    expect(await follow(MISSING, polls, listed)).toEqual([['2'], ['4']]);
  });

  test('is named in a warning of the poll; of many there is one', async () => {
    const keys = Array.from({ length: 11 }, (_, at) => `key.${at}`);
    const { warnings } = await pollNodes([recordOf(1)], { metrics: keys.slice(0, 2) });
    expect(warnings).toEqual([
      'metric key.0: no node with a current record sends it',
      'metric key.1: no node with a current record sends it',
    ]);
    const many = await pollNodes([recordOf(1)], { metrics: keys });
    expect(many.warnings).toEqual(['metrics of nodes: no current record has 11 of them']);
  });
});

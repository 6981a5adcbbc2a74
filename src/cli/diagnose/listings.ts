import { array, integer, object, raw, string } from '../../json/shape.ts';
import { userOf } from '../advice/cluster-rules.ts';
import { writeCount } from '../human.ts';
import { add, addFailure, type Asked } from './asked.ts';
import type { Known } from './nodes.ts';

/** What one node's list of ranges cost. */
export interface Sample {
  readonly replicas: number;
  readonly bytes: number;
  readonly seconds: number;
}

/** The ranges of one node: enough to know what all of them cost. */
export async function checkRanges(asked: Asked, { nodes }: Known): Promise<Sample | undefined> {
  const { api, config, reading, recorder } = asked;
  const check = 'GET /nodes/{id}/ranges/';
  const node = nodes[0];
  if (node === undefined) {
    add(asked, check, 'skipped', 'no node to ask is known');
    return undefined;
  }
  let replicas = 0;
  let encoding = 'unknown';
  try {
    await api.nodeRanges(reading, {
      nodeId: node.id,
      route: 'gateway',
      limit: Number(config.collectors['ranges']?.['page_limit']),
      firstUrl: 0,
      shape: object({ desc: object({ end_key: raw() }) }),
      onRange({ desc }) {
        replicas += 1;
        if (typeof desc.end_key === 'string') encoding = 'base64 text, as servers write it';
        if (Array.isArray(desc.end_key)) encoding = 'lists of integers, as the documents say';
      },
    });
  } catch (error) {
    addFailure(asked, error, { check, operation: 'ranges' });
    return undefined;
  }
  const said = `${recorder.describeLast('node_ranges')}; ${writeCount(replicas)} replicas on node ${node.id}`;
  add(asked, check, 'ok', `${said}; keys are ${encoding}`);
  const { bytes = 0, seconds = 0 } = recorder.last('node_ranges') ?? {};
  return { replicas, bytes, seconds };
}

/** The sessions: whether they come, from all nodes, and from all users. */
export async function checkSessions(asked: Asked, known: Known): Promise<void> {
  const { api, config, reading, recorder } = asked;
  const check = 'GET /sessions/';
  const own = config.cluster_api?.username?.toLowerCase();
  let count = 0;
  let others = 0;
  try {
    const { failedNodes } = await api.sessions(reading, {
      limit: Number(config.collectors['sessions']?.['page_limit']),
      shape: object({ username: string() }),
      onSession({ username }) {
        count += 1;
        if (username !== own) others += 1;
      },
    });
    const said = `${recorder.describeLast('sessions')}; ${writeCount(count)} sessions`;
    if (own !== undefined && others === 0 && known.connections > 0) {
      const advice = `run GRANT SYSTEM VIEWACTIVITYREDACTED TO ${userOf({ config })};`;
      const detail = `${said}, although the nodes have ${writeCount(known.connections)} connections: the user sees only its own`;
      add(asked, check, 'failed', detail, advice);
      return;
    }
    if (failedNodes.size === 0) add(asked, check, 'ok', said);
    else {
      const ids = [...failedNodes].toSorted((a, b) => a - b).join(', ');
      add(asked, check, 'warning', `${said}; none from node ${ids}`, 'see `nodes` for their state');
    }
  } catch (error) {
    addFailure(asked, error, { check, operation: 'sessions' });
  }
}

/** The users; a user that may not read them is no fault while nobody asks for them. */
export async function checkUsers(asked: Asked): Promise<void> {
  const { api, config, reading, recorder } = asked;
  const check = 'GET /users/';
  let count = 0;
  try {
    await api.users(reading, { shape: object({}), onUser: () => void (count += 1) });
    add(asked, check, 'ok', `${recorder.describeLast('users')}; ${writeCount(count)} users`);
  } catch (error) {
    const isWanted = config.collectors['users']?.enabled === true;
    const verdict = isWanted ? 'failed' : 'warning';
    addFailure(asked, error, { check, operation: 'users', verdict });
  }
}

/** The configured tables, one after the other: each is a load on the server. */
export async function checkTables(asked: Asked): Promise<void> {
  const { api, config, reading, recorder } = asked;
  const names = config.collectors['tables']?.['tables'];
  if (!Array.isArray(names) || names.length === 0) {
    add(asked, 'GET /databases/{db}/tables/{table}/', 'skipped', 'no table is configured');
    return;
  }
  for (const name of names.map(String)) {
    const [database = '', ...rest] = name.split('.');
    const check = `table ${name}`;
    try {
      const shape = object({ range_count: integer(), columns: array(object({})) });
      const found = await api.table(reading, { database, table: rest.join('.'), shape });
      const { range_count: ranges = 0 } = found;
      add(asked, check, 'ok', `${recorder.describeLast('table')}; ${writeCount(ranges)} ranges`);
    } catch (error) {
      addFailure(asked, error, { check, operation: 'table' });
    }
  }
}

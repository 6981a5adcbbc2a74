import {
  internalError,
  jsonAnswer,
  unencodableAnswer,
  type Answer,
  textAnswer,
} from '../http/answer.ts';
import { clusterMetrics } from '../releases.ts';
import { encodeJson } from '../wire/encoding.ts';
import { nodeElement } from '../wire/node.ts';
import { isReachable } from '../world/nodes.ts';
import { recordOf } from '../world/records.ts';
import { listedNodes } from '../world/state.ts';
import { slicePage, listBody } from './page.ts';
import type { ClusterRequest, ClusterServer } from './request.ts';

/** GET /nodes/: every node with a status record, by id. A partitioned node cannot read the records. */
export function listNodes(server: ClusterServer, request: ClusterRequest): Answer {
  const { world, quirks } = server;
  if (request.node.process === 'partitioned') return internalError();
  if (quirks.unencodable === 'nodes') return unencodableAnswer();
  const page = slicePage(listedNodes(world.state), request.query);
  return jsonAnswer(
    200,
    listBody(
      'nodes',
      page.items.map((node) => () => encodeJson(nodeElement(world.state, quirks, node))),
      page.next,
      quirks.nullArrays ? 'null' : '[]',
    ),
  );
}

/** GET /health of the old mux: without authentication, even over plain http. */
export function health(): Answer {
  return jsonAnswer(200, '{}');
}

/** GET /api/v2/health/: `ready` checks whether the node accepts clients; a value that is no bool is refused. */
export function ready(request: ClusterRequest): Answer {
  const value = request.query.get('ready');
  const known = value === null || /^(?:1|t|true|0|f|false)$/i.test(value);
  if (!known) return textAnswer(400, `strconv.ParseBool: parsing "${value}": invalid syntax`);
  const isChecked = value !== null && /^(?:1|t)/i.test(value);
  return isChecked && request.node.liveness !== 'live' ? internalError() : jsonAnswer(200, '{}');
}

/** Metrics that a server still shows where a setting cuts `/_status/vars` to the essential ones. */
const ESSENTIAL: ReadonlySet<string> = new Set([
  'sys.uptime',
  'sql.conns',
  'capacity',
  'liveness.livenodes',
]);

/** GET /_status/vars: the node's own metrics as Prometheus text, dots as underscores. */
export function statusVars(server: ClusterServer, request: ClusterRequest): Answer {
  const { node } = request;
  const isEssential = server.quirks.visibility === 'essential';
  const [reporter] = [...server.world.state.nodes.values()].filter(isReachable);
  const record = recordOf(server.world.state, node);
  const lines: string[] = node === reporter && !isEssential ? [...clusterMetrics(node)] : [];
  for (const [key, value] of Object.entries(record.metrics)) {
    if (isEssential && !ESSENTIAL.has(key)) continue;
    lines.push(`${varName(key)}{node_id="${node.id}"} ${value}`);
  }
  for (const [storeId, metrics] of record.stores) {
    for (const [key, value] of Object.entries(metrics)) {
      if (isEssential && !ESSENTIAL.has(key)) continue;
      lines.push(`${varName(key)}{node_id="${node.id}",store="${storeId}"} ${value}`);
    }
  }
  const body = lines.toSorted().map((line) => `${line}\n`);
  return { status: 200, headers: { 'Content-Type': 'text/plain; version=0.0.4' }, body };
}

function varName(key: string): string {
  return key.replace(/[^A-Za-z0-9_:]/g, '_');
}

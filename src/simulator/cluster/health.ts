import { jsonAnswer, textAnswer, type Answer } from '../http/answer.ts';
import { recordOf } from '../world/records.ts';
import { internalError } from '../http/answer.ts';
import type { ClusterRequest, ClusterServer } from './request.ts';

/** GET /health of the old mux: open to everybody, even over plain http. */
export function health(): Answer {
  return jsonAnswer(200, '{}');
}

/** GET /api/v2/health/: `ready` asks whether the node takes clients; a value that is no bool is refused. */
export function ready(request: ClusterRequest): Answer {
  const wish = request.query.get('ready');
  const known = wish === null || /^(?:1|t|true|0|f|false)$/i.test(wish);
  if (!known) return textAnswer(400, `strconv.ParseBool: parsing "${wish}": invalid syntax`);
  const asked = wish !== null && /^(?:1|t)/i.test(wish);
  return asked && request.node.liveness !== 'live' ? internalError() : jsonAnswer(200, '{}');
}

/** GET /_status/vars: the node's own metrics as Prometheus text, dots as underscores. */
export function statusVars(server: ClusterServer, request: ClusterRequest): Answer {
  const { node } = request;
  const record = recordOf(server.world.state, node);
  const lines: string[] = [];
  for (const [key, value] of Object.entries(record.metrics)) {
    lines.push(`${varName(key)}{node_id="${node.id}"} ${value}`);
  }
  for (const [storeId, metrics] of record.stores) {
    for (const [key, value] of Object.entries(metrics)) {
      lines.push(`${varName(key)}{node_id="${node.id}",store="${storeId}"} ${value}`);
    }
  }
  const body = lines.toSorted().map((line) => `${line}\n`);
  return { status: 200, headers: { 'Content-Type': 'text/plain; version=0.0.4' }, body };
}

function varName(key: string): string {
  return key.replace(/[^A-Za-z0-9_:]/g, '_');
}

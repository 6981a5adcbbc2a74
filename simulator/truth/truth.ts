import type { Assistant } from '../world/assistant.ts';
import { isReachable, type ClusterNode, type Liveness } from '../world/nodes.ts';
import { recordOf } from '../world/records.ts';
import { listedNodes, type WorldState } from '../world/state.ts';
import { sizesOf } from '../world/table-sizes.ts';
import { dependenceTruth, type DependenceTruth } from './dependence-truth.ts';
import { rangeTruth, type RangeTruth, type StoreTruth } from './range-truth.ts';
import { sessionTruth, type SessionTruth } from './session-truth.ts';

interface NodeTruth {
  readonly nodeId: number;
  readonly status: Liveness;
  /** Its ranges can be scanned: it is live, draining or decommissioning, and responds. */
  readonly scannable: boolean;
  readonly buildTag: string;
  readonly startedAtMs: number;
  readonly updatedAtMs: number;
  readonly storeIds: readonly number[];
}

interface TableTruth {
  readonly database: string;
  readonly schema: string;
  readonly table: string;
  readonly tableId: number;
  readonly ranges: number;
  readonly columns: number;
  readonly indexes: number;
  /** Now; a server may list older ones. */
  readonly dataBytes: number;
  readonly liveBytes: number;
  readonly replicatedBytes: number;
}

/** The correct result of every collector at this moment. */
export interface Truth {
  readonly nowMs: number;
  readonly nodes: readonly NodeTruth[];
  readonly nodesByStatus: Readonly<Record<string, number>>;
  /** Stores of the nodes that can be scanned. */
  readonly stores: readonly StoreTruth[];
  readonly ranges: RangeTruth;
  /** What is lost when a node or a locality stops, and what is lost already. */
  readonly dependence: DependenceTruth;
  readonly sessions: SessionTruth;
  readonly users: readonly string[];
  readonly tables: readonly TableTruth[];
  readonly assistant: Assistant | undefined;
}

/** Computed from the state, not from responses. `sessionsOf` is the only user whose sessions count; default: all. */
export function truthOf(
  state: WorldState,
  assistant: Assistant | undefined,
  sessionsOf?: string,
): Truth {
  const nodes = listedNodes(state);
  const scannable = nodes.filter(isScannable);
  const nodesByStatus: Record<string, number> = {};
  for (const { liveness } of nodes) nodesByStatus[liveness] = (nodesByStatus[liveness] ?? 0) + 1;
  return {
    nowMs: state.now(),
    nodes: nodes.map((node) => nodeTruth(state, node)),
    nodesByStatus,
    ...rangeTruth(state, scannable),
    dependence: dependenceTruth(state),
    sessions: sessionTruth(state, nodes.filter(isReachable), sessionsOf),
    users: state.accounts.map((account) => account.name),
    tables: sizesOf(state, state.now()).map(({ table, ...sizes }) => ({
      database: table.database,
      schema: table.schema,
      table: table.name,
      tableId: table.id,
      columns: table.columns.length,
      indexes: table.indexes.length,
      ...sizes,
    })),
    assistant: assistant === undefined ? undefined : { ...assistant },
  };
}

function isScannable(node: ClusterNode): boolean {
  const serves = ['live', 'draining', 'decommissioning'].includes(node.liveness);
  return serves && isReachable(node) && node.silentOn === 'nothing';
}

function nodeTruth(state: WorldState, node: ClusterNode): NodeTruth {
  return {
    nodeId: node.id,
    status: node.liveness,
    scannable: isScannable(node),
    buildTag: node.buildTag,
    startedAtMs: node.startedAtMs,
    updatedAtMs: recordOf(state, node).updatedAtMs,
    storeIds: node.stores.map((store) => store.id),
  };
}

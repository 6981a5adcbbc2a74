import type { ClusterApi, Reading } from '../../cluster/api.ts';
import { integer, object } from '../../json/shape.ts';

const shape = object({ node_id: integer(), liveness_status: integer() });
const DECOMMISSIONED = 5;
/** A record of a node is some 150 kB. */
const NODES_PER_PAGE = 200;

/**
 * An answer without sessions says that there are none only if a node was asked with success. Throws an Error when
 * every node that should have been asked is among the failed ones.
 */
export async function requireSomebodyAnswered(
  api: ClusterApi,
  reading: Reading,
  failed: ReadonlySet<number>,
): Promise<void> {
  const expected: number[] = [];
  // An error that names no node is of the fan-out as a whole: nobody was asked.
  if (!failed.has(0)) {
    await api.nodes(reading, {
      limit: NODES_PER_PAGE,
      shape,
      onNode: ({ node_id: id = 0, liveness_status: status }) => {
        if (id > 0 && status !== DECOMMISSIONED) expected.push(id);
      },
    });
  }
  if (expected.every((id) => failed.has(id))) {
    throw new Error(
      'sessions: the answer has no session, only errors of all nodes; see the log of the answering node',
    );
  }
}

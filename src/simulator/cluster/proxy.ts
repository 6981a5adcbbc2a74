import { textAnswer, type Answer, type Reply } from '../http/answer.ts';
import { reach } from './ranges.ts';
import { cookieOf, type ClusterRequest, type ClusterServer } from './request.ts';
import { answerLocally } from './routes.ts';

/** remote_node_id, as parameter or cookie, makes the node asked hand the whole request to another one. */
export async function answerCluster(
  server: ClusterServer,
  request: ClusterRequest,
): Promise<Reply> {
  const wish = request.query.get('remote_node_id') || cookieOf(request, 'remote_node_id');
  if (wish === undefined || wish === '' || wish === 'local' || server.quirks.ignoreRemoteNode) {
    return answerLocally(server, request);
  }
  if (!/^\d{1,9}$/.test(wish)) {
    return textAnswer(400, `server: error parsing nodeID from request: ${wish}: invalid node ID`);
  }
  const node = server.world.state.nodes.get(Number(wish));
  if (node === undefined || node.liveness === 'decommissioned') {
    return textAnswer(
      400,
      `unable to get address for nodeID: ${wish}: unable to look up descriptor for n${wish}`,
    );
  }
  const failure = await reach(server, request.node, node);
  if (failure === undefined) return answerLocally(server, { ...request, node });
  return failure === 'silence' ? failure : badGateway();
}

/** What Go's reverse proxy says when it cannot connect: the status and nothing else. */
function badGateway(): Answer {
  return { status: 502, headers: {}, body: '' };
}

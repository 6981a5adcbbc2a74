import type { Answer } from '../http/answer.ts';
import type { Arrival } from '../http/serve.ts';
import { timeText } from '../wire/encoding.ts';
import { regionsOf } from '../world/assistant-actions.ts';
import type { Assistant } from '../world/assistant.ts';
import { cloudAnswer, cloudError } from './answers.ts';
import { bodyOf, textMember, type CloudServer } from './service.ts';

/** Stands in the assistant's credentials, so that a test can look for it where no secret must be. */
export const ASSISTANT_PASSWORD = 'assistant-password-marker';

/** The migration assistant of the cluster: GET, POST and DELETE. */
export function answerAssistant(server: CloudServer, arrival: Arrival): Answer {
  if (arrival.method === 'POST') return provision(server, arrival);
  if (arrival.method === 'DELETE') {
    const leaving = server.world.deleteAssistant();
    return leaving === undefined
      ? noAssistant(server)
      : cloudAnswer(assistantBody(server, leaving));
  }
  const present = server.world.assistant();
  return present === undefined ? noAssistant(server) : cloudAnswer(assistantBody(server, present));
}

function provision(server: CloudServer, arrival: Arrival): Answer {
  const body = bodyOf(arrival);
  if (body === undefined)
    return cloudError('invalid', 'invalid argument: body is not a JSON object');
  const region = textMember(body, 'region') ?? '';
  if (region !== '' && !regionsOf(server.world.state).includes(region)) {
    return cloudError('invalid', `invalid argument: region ${region} is not one of the cluster's`);
  }
  const present = server.world.assistant();
  if (present !== undefined && present.status !== 'FAILED') {
    return cloudError('exists', 'migration assistant already exists for this cluster');
  }
  return cloudAnswer(assistantBody(server, server.world.provisionAssistant(region)));
}

function noAssistant(server: CloudServer): Answer {
  const id = server.world.state.assistant.clusterId;
  return cloudError('notFound', `migration assistant of cluster ${id} not found`);
}

/** Address and credentials only while RUNNING, the error only while FAILED. */
function assistantBody(server: CloudServer, assistant: Assistant): object {
  const running = assistant.status === 'RUNNING';
  const when = (value: string): string => (running ? value : '');
  return {
    id: assistant.id,
    cluster_id: server.world.state.assistant.clusterId,
    deployed_region: assistant.region,
    status: assistant.status,
    health: assistant.health,
    created_at: timeText(assistant.createdAtMs),
    updated_at: timeText(assistant.updatedAtMs),
    url: when('https://assistant.example.internal'),
    username: when('migration-admin'),
    password: when(ASSISTANT_PASSWORD),
    bucket_grantee: when('arn:aws:iam::123456789012:role/simulated-assistant'),
    last_error: assistant.status === 'FAILED' ? assistant.lastError : '',
  };
}

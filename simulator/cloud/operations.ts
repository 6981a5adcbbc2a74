import type { Answer } from '../http/answer.ts';
import type { ReceivedRequest } from '../http/serve.ts';
import { timeText } from '../wire/encoding.ts';
import { regionsOf } from '../world/assistant-actions.ts';
import type { Assistant } from '../world/assistant.ts';
import { renameDatabase } from '../world/tables.ts';
import { cloudAnswer, cloudError, bodyOf, textMember, type CloudServer } from './request.ts';

/** The assistant's password, so that tests can search for it where secrets must not occur. */
export const ASSISTANT_PASSWORD = 'assistant-password-marker';

/** The migration assistant of the cluster: GET, POST and DELETE. */
export function answerAssistant(server: CloudServer, received: ReceivedRequest): Answer {
  if (received.method === 'POST') return provision(server, received);
  if (received.method === 'DELETE') {
    const leaving = server.world.deleteAssistant();
    return leaving === undefined
      ? noAssistant(server)
      : cloudAnswer(assistantBody(server, leaving));
  }
  const present = server.world.assistant();
  return present === undefined ? noAssistant(server) : cloudAnswer(assistantBody(server, present));
}

function provision(server: CloudServer, received: ReceivedRequest): Answer {
  const body = bodyOf(received);
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

/** The CA bundle that the assistant trusts: GET, PATCH and DELETE; empty for the system's roots. */
export function answerCertificate(server: CloudServer, received: ReceivedRequest): Answer {
  const held = server.world.state.assistant;
  if (server.world.assistant() === undefined) {
    return cloudError('notFound', `migration assistant of cluster ${held.clusterId} not found`);
  }
  const before = held.certificate;
  if (received.method === 'DELETE') {
    held.certificate = '';
    return cloudAnswer({ x509_pem_cert: before });
  }
  if (received.method !== 'PATCH') return cloudAnswer({ x509_pem_cert: before });
  const text = textMember(bodyOf(received) ?? new Map(), 'x509_pem_cert');
  if (text === undefined || !text.includes('-----BEGIN CERTIFICATE-----')) {
    return cloudError('invalid', 'invalid argument: x509_pem_cert is not a PEM bundle');
  }
  held.certificate = text;
  return cloudAnswer({ x509_pem_cert: text });
}

const NAME = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,62}$/;

/** PATCH /databases with both names, or PATCH /databases/{name} with the new one. */
export function answerDatabase(
  server: CloudServer,
  received: ReceivedRequest,
  pathName: string | undefined,
): Answer {
  const body = bodyOf(received);
  if (body === undefined)
    return cloudError('invalid', 'invalid argument: body is not a JSON object');
  const name = pathName ?? textMember(body, 'name');
  const newName = textMember(body, 'new_name');
  if (name === undefined || newName === undefined || !NAME.test(newName)) {
    return cloudError('invalid', 'invalid argument: name and new_name must be valid names');
  }
  const { tables } = server.world.state;
  if (tables.some((table) => table.database === newName)) {
    return cloudError('exists', `database "${newName}" already exists`);
  }
  if (!renameDatabase(tables, name, newName)) {
    return cloudError('notFound', `database "${name}" does not exist`);
  }
  const count = tables.filter((table) => table.database === newName).length;
  return cloudAnswer({ name: newName, table_count: String(count) });
}
